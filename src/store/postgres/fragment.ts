import type { Bound } from './connections.ts';
import type { Parameter } from './sql-client.ts';

/** A piece of SQL with the values of its parameters. Each value stands between two texts. */
export interface Fragment {
  readonly texts: readonly string[];
  readonly values: readonly Parameter[];
}

function isFragment(part: Fragment | Parameter): part is Fragment {
  return typeof part === 'object' && part !== null && 'texts' in part;
}

/** Returns the piece of SQL of a template. Fragments become a part of it, all other values become parameters. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Fragment | Parameter)[]): Fragment {
  const texts = [strings[0] ?? ''];
  const values: Parameter[] = [];
  const extend = (text = '') => texts.push((texts.pop() ?? '') + text);
  for (const [index, part] of parts.entries()) {
    if (isFragment(part)) {
      extend(part.texts[0]);
      texts.push(...part.texts.slice(1));
      values.push(...part.values);
      extend(strings[index + 1]);
    } else {
      values.push(part);
      texts.push(strings[index + 1] ?? '');
    }
  }
  return { texts, values };
}

/** Returns a fixed text as SQL. Never call it with a value. */
export function raw(text: string): Fragment {
  return { texts: [text], values: [] };
}

/** Returns the fragments with an operator between them; TRUE or FALSE without fragments. */
export function join(parts: readonly Fragment[], operator: 'AND' | 'OR'): Fragment {
  const [first, ...others] = parts;
  if (first === undefined) return raw(operator === 'AND' ? 'TRUE' : 'FALSE');
  const all = others.reduce((left, right) => sql`${left} ${raw(operator)} ${right}`, first);
  return sql`(${all})`;
}

/** Returns an unnamed statement, which PostgreSQL plans for its values. */
export function toBound({ texts, values }: Fragment): Bound {
  const text = texts.reduce((before, after, index) => `${before}$${index}${after}`);
  return [{ text }, values];
}
