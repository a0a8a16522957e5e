import type { Parameter } from './sql-client.ts';

/** A piece of SQL: texts, and the values of its parameters between them. */
export interface Fragment {
  readonly parts: readonly (string | { readonly value: Parameter })[];
}

function isFragment(part: Fragment | Parameter): part is Fragment {
  return typeof part === 'object' && part !== null && 'parts' in part;
}

/** Returns the piece of SQL of a template. Fragments become a part of it, all other values become parameters. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Fragment | Parameter)[]): Fragment {
  const all = strings.flatMap((text, index) => {
    if (index === 0) return [text];
    const part = parts[index - 1];
    return [...(isFragment(part) ? part.parts : [{ value: part }]), text];
  });
  return { parts: all };
}

/** Returns a fixed text as SQL. Never call it with a value. */
export function raw(text: string): Fragment {
  return { parts: [text] };
}

/** Returns the fragments with an operator between them; TRUE or FALSE without fragments. */
export function join(fragments: readonly Fragment[], operator: 'AND' | 'OR'): Fragment {
  if (fragments.length === 0) return raw(operator === 'AND' ? 'TRUE' : 'FALSE');
  const all = fragments.flatMap(({ parts }, index) => (index === 0 ? parts : [` ${operator} `, ...parts]));
  return { parts: ['(', ...all, ')'] };
}

/** Returns an unnamed statement, which PostgreSQL plans for its values. */
export function toBound({ parts }: Fragment): readonly [text: string, values: readonly Parameter[]] {
  const values: Parameter[] = [];
  const text = parts.map((part) => (typeof part === 'string' ? part : `$${values.push(part.value)}`)).join('');
  return [text, values];
}
