import type { TokenType } from '../../../client/create-client.ts';
import { type MemberRule, TOKEN_TYPES, type TokenTypeRow } from '../../../contract/token-types.ts';
import { FormField } from '../parts/form-field.tsx';

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
export function DataFields({ type, data, onInput }: DataFieldsOptions) {
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
