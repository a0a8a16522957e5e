import type { ComponentChildren } from 'preact';
import type { TokenType } from '../../../client/create-client.ts';
import { TOKEN_TYPES, type TokenTypeRow } from '../../../contract/token-types.ts';
import { type Errors, errorsAt, FormField } from '../parts/form-field.tsx';
import { useOffers } from '../parts/offers.tsx';
import { isReadAsJson, type TokenDraft } from './token-draft.ts';

interface FieldsOptions {
  readonly draft: TokenDraft;
  readonly errors: Errors;
  readonly change: (part: Partial<TokenDraft>) => void;
  /** The members to show, each with a note. */
  readonly notes: Readonly<Partial<Record<keyof TokenDraft, ComponentChildren>>>;
  /** Whether an empty field gets the default of the type. */
  readonly hasDefaults: boolean;
}

const DEDUPLICATE = [
  ['', "the tenant's setting"],
  ['true', 'yes: return the token with the same fingerprint'],
  ['false', 'no'],
] as const;
const EXPRESSIONS = ['mask', 'search_indexes', 'fingerprint_expression', 'id'];
const ROWS: Readonly<Record<string, number>> = { data: 2, mask: 2, search_indexes: 3, containers: 1, metadata: 2 };

/** Shows the fields of a token, with the errors of the vault below them. */
export function TokenFields({ draft, errors, change, notes, hasDefaults }: FieldsOptions) {
  const defaults = hasDefaults ? defaultsOf(draft.type) : {};
  return (
    <>
      {(Object.keys(notes) as (keyof TokenDraft)[]).map((name) => {
        const Control = EXPRESSIONS.includes(name) ? ExpressionField : FormField;
        return (
          <Control
            key={name}
            name={name}
            value={draft[name]}
            onInput={(value) => change({ [name]: value })}
            rows={ROWS[name] ?? 1}
            placeholder={defaults[name]}
            errors={errorsAt(errors, name)}
            note={name === 'data' && draft.data !== '' ? readAs(draft) : notes[name]}
            isCode
          />
        );
      })}
      <FormField
        name="deduplicate"
        label={<span title="deduplicate_token">Deduplicate</span>}
        value={draft.deduplicate_token}
        options={DEDUPLICATE}
        onInput={(deduplicate_token) => change({ deduplicate_token })}
        note={null}
      />
    </>
  );
}

const readAs = (draft: TokenDraft): string => `is read as ${isReadAsJson(draft) ? 'JSON' : 'text'}`;

/** Returns the values that a new token gets for empty fields. */
function defaultsOf(type: TokenType): Readonly<Partial<Record<keyof TokenDraft, string>>> {
  const { mask, search_indexes = [], container }: TokenTypeRow = TOKEN_TYPES[type];
  return {
    ...(mask !== undefined && { mask: typeof mask === 'string' ? mask : JSON.stringify(mask, null, 2) }),
    search_indexes: search_indexes.join('\n'),
    fingerprint_expression: '{{ data | stringify }}',
    containers: container,
  };
}

/** The maximum number of suggested filters. */
const MAX_OFFERED = 8;

/** Matches the name and arguments of a filter after a `|` inside `{{`. */
const FILTER = /\{\{(?:(?!\}\}).)*\|\s*([a-z_0-9]*)(\s*:[^|{}]*)?$/s;

/** Shows a field for expressions. After `{{ data |`, it suggests filters and shows their arguments. */
function ExpressionField(options: Parameters<typeof FormField>[0]) {
  const { name, value, onInput } = options;
  const offers = useOffers({ name, label: 'Filters', value, onInput, offersAt, takesFirst: true });
  const { known } = offers.found;
  return (
    <FormField {...options} onInput={offers.onType} control={offers.control}>
      {known !== undefined && <p class="signature soft code">{FILTER_SIGNATURES[known]}</p>}
      {offers.list}
    </FormField>
  );
}

/** Returns the filters that complete the text before the cursor, or the filter that it names. */
function offersAt(before: string) {
  const [, typed = '', rest] = FILTER.exec(before) ?? [undefined, ' '];
  const known = Object.hasOwn(FILTER_SIGNATURES, typed) ? typed : undefined;
  const isNaming = rest === undefined && known === undefined;
  const found = isNaming ? Object.keys(FILTER_SIGNATURES).filter((each) => each.startsWith(typed)) : [];
  return {
    typed,
    known,
    offers: found.slice(0, MAX_OFFERED).map((text) => ({ text, label: FILTER_SIGNATURES[text] })),
  };
}
