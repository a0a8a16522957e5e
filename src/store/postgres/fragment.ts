import type { Bound } from './connections.ts';
import type { Parameter } from './sql-client.ts';

/** A piece of SQL with the values of its parameters. `values[n]` belongs between `texts[n]` and `texts[n + 1]`. */
export interface Fragment {
  readonly texts: readonly string[];
  readonly values: readonly Parameter[];
}

function isFragment(part: Fragment | Parameter): part is Fragment {
  return typeof part === 'object' && part !== null && 'texts' in part;
}

/** Concatenates texts and fragments. */
function concat(parts: readonly (string | Fragment)[]): Fragment {
  const texts: string[] = [];
  const values: Parameter[] = [];
  let last = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      last += part;
      continue;
    }
    for (const [index, value] of part.values.entries()) {
      texts.push(last + part.texts[index]);
      values.push(value);
      last = '';
    }
    last += part.texts.at(-1) ?? '';
  }
  return { texts: [...texts, last], values };
}

/** Returns the piece of SQL of a template. Fragments become a part of it, all other values become parameters. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Fragment | Parameter)[]): Fragment {
  return concat(
    strings.flatMap((text, index) => {
      if (index === 0) return [text];
      const part = parts[index - 1];
      return [isFragment(part) ? part : { texts: ['', ''], values: [part] }, text];
    }),
  );
}

/** Returns a fixed text as SQL. Never call it with a value. */
export function raw(text: string): Fragment {
  return { texts: [text], values: [] };
}

/** Returns the fragments with an operator between them; TRUE or FALSE without fragments. */
export function join(parts: readonly Fragment[], operator: 'AND' | 'OR'): Fragment {
  if (parts.length === 0) return raw(operator === 'AND' ? 'TRUE' : 'FALSE');
  return concat(['(', ...parts.flatMap((part, index) => (index === 0 ? [part] : [` ${operator} `, part])), ')']);
}

/** Returns an unnamed statement, which PostgreSQL plans for its values. */
export function toBound({ texts, values }: Fragment): Bound {
  const text = texts.reduce((before, after, index) => `${before}$${index}${after}`);
  return [{ text }, values];
}
