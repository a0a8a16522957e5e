import { useEffect, useRef } from 'preact/hooks';
import { type TokenType, VaultError } from '../../../client/create-client.ts';
import { type MemberRule, TOKEN_TYPES, type TokenTypeRow } from '../../../contract/token-types.ts';
import { useLoaded } from '../loaded.ts';
import { Draft, type Refusal, refusalOf, useDebounced, useDraft } from '../parts/draft.tsx';
import { forgetMatch } from '../parts/forget-match.ts';
import { FormField } from '../parts/form-field.tsx';
import { toast, Wrong } from '../parts/pieces.tsx';
import { address, go } from '../route.ts';
import { sendText } from '../vault.ts';
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
export function NewTokenForm() {
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
    const { id }: { readonly id: string } = JSON.parse(await sendText('/tokens', body));
    toast('Token created');
    go(address('tokens', { token: id }), 'replace');
  }

  return (
    <Draft
      title="New token"
      action="Create"
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
    return { text: await sendText('/tokens/preview', body, { signal }) };
  } catch (error) {
    if (!(error instanceof VaultError) || error.status === 401) throw error;
    return { refused: refusalOf(error) };
  } finally {
    forgetMatch();
  }
}

interface DataFieldsOptions {
  readonly type: TokenType;
  /** The data as JSON text. */
  readonly data: string;
  readonly onInput: (data: string) => void;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Shows a field for each member of a card or bank account, beside the JSON that they make. Shows nothing for other types
 * and for JSON that is no such object.
 */
function DataFields({ type, data, onInput }: DataFieldsOptions) {
  const { data: rule }: TokenTypeRow = TOKEN_TYPES[type];
  const members = membersOf(data);
  if (rule.kind !== 'object' || members === undefined) return null;
  const rules = Object.entries(rule.members);

  function set(name: string, each: MemberRule, text: string) {
    const value = each.kind === 'number' && /^\d+$/.test(text) ? Number(text) : text;
    const changed = { ...members, [name]: value };
    const given = Object.entries(changed).filter(([, each]) => each !== '');
    onInput(given.length === 0 ? '' : JSON.stringify(Object.fromEntries(given)));
  }

  return (
    <fieldset class="data-fields">
      <legend>{type === 'bank' ? 'Bank account' : 'Card'}</legend>
      {rules.map(([name, each]) => (
        <FormField
          key={name}
          name={name}
          label={name === 'cvc' ? 'CVC' : undefined}
          value={String(members[name] ?? '')}
          onInput={(text) => set(name, each, text)}
          note={each.required ? 'required' : ''}
          isCode
        />
      ))}
    </fieldset>
  );
}

/** Returns the members of an object as JSON text; undefined for other text. */
function membersOf(data: string): Members | undefined {
  if (data.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
