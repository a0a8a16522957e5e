import { useEffect, useRef, useState } from 'preact/hooks';
import { type TokenType, VaultError } from '../../../client/create-client.ts';
import { TOKEN_TYPES } from '../../../contract/token-types.ts';
import { messageOf, reload, useLoaded } from '../loaded.ts';
import { Select } from '../parts/controls.tsx';
import { useDebounced } from '../parts/debounced.ts';
import { Draft } from '../parts/draft.tsx';
import { forgetMatch } from '../parts/forget-match.ts';
import type { Errors } from '../parts/form-field.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { toast } from '../parts/toast.tsx';
import { address, go } from '../route.ts';
import { sendText } from '../vault.ts';
import { DataFields } from './data-fields.tsx';
import { PreviewPane } from './preview-pane.tsx';
import { createText, EMPTY_DRAFT, type TokenDraft } from './token-draft.ts';
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

/** The vault's reply to a draft, or the errors in the draft. */
export interface DraftOutcome {
  readonly text?: string;
  readonly errors: Errors;
  /** An error that does not concern a single member. */
  readonly message?: string;
}

/** Shows a form for a new token, with a preview. The typed text exists only in this form. */
export function NewTokenForm({ closed }: { readonly closed: string }) {
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [refused, setRefused] = useState<DraftOutcome>();
  const valid = useRef('');
  const body = createText(draft);
  const settled = useDebounced(body);
  const isBlank = draft.data.trim() === '';
  const { value, error, isLoading } = useLoaded(isBlank ? undefined : settled, (signal) =>
    outcomeOf(sendText('tokens/preview', settled, { signal })),
  );
  useEffect(() => forgetMatch, []);
  const { errors, message, text } = refused ?? value ?? { errors: {} };
  if (text !== undefined) valid.current = text;
  const isValid = value?.text !== undefined && refused === undefined;
  const isSettled = settled === body && !isLoading;

  function change(part: Partial<TokenDraft>) {
    setRefused(undefined);
    setDraft((before) => ({ ...before, ...part }));
  }

  async function create() {
    const outcome = await outcomeOf(sendText('tokens', body)).catch((wrong) => ({
      errors: {},
      message: messageOf(wrong),
    }));
    if (!('text' in outcome) || outcome.text === undefined) return setRefused(outcome);
    const { id }: { readonly id: string } = JSON.parse(outcome.text);
    toast('Token created');
    reload();
    go(address('tokens', { token: id }), 'replace');
  }

  return (
    <Draft
      title="New token"
      action="Create"
      closed={closed}
      isReady={!isBlank && (isValid || !isSettled)}
      onSubmit={create}
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
      <div class="field">
        <label for="field-type" title="type">
          Type
        </label>
        <Select
          id="field-type"
          value={draft.type}
          options={Object.keys(TOKEN_TYPES) as TokenType[]}
          choose={(type) => change({ type })}
        />
        <p class="note">{TOKEN_TYPES[draft.type].summary}</p>
      </div>
      <DataFields type={draft.type} data={draft.data} onInput={(data) => change({ data })} />
      <TokenFields draft={draft} errors={isBlank ? {} : errors} change={change} notes={NOTES} hasDefaults />
    </Draft>
  );
}

/**
 * Resolves to the text of the reply, or to the errors of a problem. Rejects for a 401 and for failures without a reply.
 */
export async function outcomeOf(reply: Promise<string>): Promise<DraftOutcome> {
  try {
    return { text: await reply, errors: {} };
  } catch (error) {
    if (!(error instanceof VaultError) || error.status === 401) throw error;
    const { errors } = error;
    return { errors, ...(Object.keys(errors).length === 0 && { message: messageOf(error) }) };
  } finally {
    forgetMatch();
  }
}
