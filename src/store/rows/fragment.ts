export type Scalar = string | number | boolean | Uint8Array | null | undefined;
/** The value of a parameter. `undefined` is NULL. Only PostgreSQL takes lists. */
export type SqlParameter = Scalar | readonly Scalar[];

/** A piece of SQL with the values of its parameters, each of which is a `?`. */
export interface Fragment {
  readonly sql: string;
  readonly params: readonly SqlParameter[];
}

function isFragment(part: Fragment | SqlParameter): part is Fragment {
  return typeof part === 'object' && part !== null && 'params' in part;
}

/** Returns the piece of SQL of a template. Fragments become a part of it, all other values become parameters. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Fragment | SqlParameter)[]): Fragment {
  const params: SqlParameter[] = [];
  let text = strings[0] ?? '';
  for (const [index, part] of parts.entries()) {
    if (isFragment(part)) {
      text += part.sql;
      // A call with too many arguments would overflow the stack.
      for (const value of part.params) params.push(value);
    } else {
      text += '?';
      params.push(part);
    }
    text += strings[index + 1] ?? '';
  }
  return { sql: text, params };
}

/** Returns a fixed text as SQL. Never call it with a value. */
export function raw(text: string): Fragment {
  return { sql: text, params: [] };
}

/** Returns the fragments with an operator between them, in parentheses; TRUE or FALSE without fragments. */
export function join(fragments: readonly Fragment[], operator: 'AND' | 'OR'): Fragment {
  if (fragments.length === 0) return raw(operator === 'AND' ? 'TRUE' : 'FALSE');
  return sql`(${list(fragments, ` ${operator} `)})`;
}

/** Returns the fragments with `separator` between them. */
export function list(fragments: readonly Fragment[], separator: string): Fragment {
  return { sql: fragments.map((each) => each.sql).join(separator), params: fragments.flatMap((each) => each.params) };
}
