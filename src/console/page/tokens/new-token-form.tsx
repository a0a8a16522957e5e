import { useEffect, useRef } from 'preact/hooks';
import { type TokenType, VaultError } from '../../../client/create-client.ts';
import { TOKEN_TYPES } from '../../../contract/token-types.ts';
import { useLoaded } from '../loaded.ts';
import { useDebounced } from '../parts/debounced.ts';
import { Draft, type Refusal, refusalOf, useDraft } from '../parts/draft.tsx';
import { forgetMatch } from '../parts/forget-match.ts';
import { FormField } from '../parts/form-field.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { toast } from '../parts/toast.tsx';
import { address, go } from '../route.ts';
import { sendText } from '../vault.ts';
import { DataFields } from './data-fields.tsx';
import { PreviewPane } from './preview-pane.tsx';
import { createText, EMPTY_DRAFT } from './token-draft.ts';
import { TokenFields } from './token-fields.tsx';

const NOTES = {
  data: 'JSON, or text',
  mask: 'shown by masked reads: JSON or an expression',
  search_indexes: 'expressions, one per line',
  fingerprint_expression: '',
  id: 'text or an expression',
  containers: 'one per line',
  metadata: 'name=value, one per line; not for sensitive values',
  expires_at: 'ISO 8601, or M/D/YYYY',
};

/** Shows a form for a new token, with a preview. The typed text exists only in this form. */
export function NewTokenForm({ closed }: { readonly closed: string }) {
  const { draft, change, refused, send } = useDraft(() => EMPTY_DRAFT);
  const valid = useRef('');
  const body = createText(draft);
  const settled = useDebounced(body);
  const isBlank = draft.data.trim() === '';
  const { value, error, isLoading } = useLoaded(isBlank ? undefined : settled, (signal) => previewOf(settled, signal));
  useEffect(() => forgetMatch, []);
  const { errors = {}, message } = refused ?? value?.refused ?? {};
  if (value?.text !== undefined) valid.current = value.text;
  const isValid = value?.text !== undefined && refused === undefined;
  const isSettled = settled === body && !isLoading;

  async function create() {
    const { id }: { readonly id: string } = JSON.parse(await sendText('tokens', body));
    toast('Token created');
    go(address('tokens', { token: id }), 'replace');
  }

  return (
    <Draft
      title="New token"
      action="Create"
      closed={closed}
      isReady={!isBlank && (isValid || !isSettled)}
      onSubmit={() => send(create)}
      previewTitle={
        <>
          Preview{' '}
          {!isBlank && value !== undefined && (
            <span class={isValid ? 'state valid' : 'state invalid'}>{isValid ? 'valid' : 'not valid'}</span>
          )}
        </>
      }
      preview={
        <PreviewPane
          text={isBlank ? '' : valid.current}
          isStale={!isValid}
          none={isBlank ? 'Type data to see a preview.' : 'Correct the errors to see a preview.'}
        />
      }
    >
      <Wrong>{message ?? error}</Wrong>
      <FormField
        name="type"
        value={draft.type}
        options={Object.keys(TOKEN_TYPES) as TokenType[]}
        onInput={(type) => change({ type })}
        note={TOKEN_TYPES[draft.type].summary}
      />
      <DataFields type={draft.type} data={draft.data} onInput={(data) => change({ data })} />
      <TokenFields draft={draft} errors={isBlank ? {} : errors} change={change} notes={NOTES} hasDefaults />
    </Draft>
  );
}

/** Resolves to the vault's reply, or to the errors in the draft. Rejects for a 401 and for failures without a reply. */
async function previewOf(body: string, signal: AbortSignal): Promise<{ text?: string; refused?: Refusal }> {
  try {
    return { text: await sendText('tokens/preview', body, { signal }) };
  } catch (error) {
    if (!(error instanceof VaultError) || error.status === 401) throw error;
    return { refused: refusalOf(error) };
  } finally {
    forgetMatch();
  }
}
