import type { Operation } from '../contract/operations.ts';

/** What a call may be given: what its row takes, and `CallOptions`. */
const MEMBERS = ['params', 'query', 'body', 'signal', 'traceId'] as const;

/**
 * Where types are not looked at, `getToken({ id })` would ask for a path without an id, which is another operation's. Throws a
 * `TypeError` that names the member.
 */
export function checkRequest(id: string, row: Operation, request: unknown): void {
  if (typeof request !== 'object' || request === null) {
    throw new TypeError(`${id}: takes one object, of ${MEMBERS.filter((name) => takes(row, name)).join(', ')}`);
  }
  for (const [name, value] of Object.entries(request)) {
    if (value !== undefined && !MEMBERS.some((member) => member === name && takes(row, member))) {
      const known = MEMBERS.filter((member) => takes(row, member)).join(', ');
      throw new TypeError(`${id}: takes no ${name}; what it takes is ${known}`);
    }
  }
  const params: unknown = 'params' in request ? request.params : undefined;
  for (const name of row.path.match(/(?<=\{)\w+(?=\})/g) ?? []) {
    const value: unknown = typeof params === 'object' && params !== null ? Reflect.get(params, name) : undefined;
    if (typeof value !== 'string' || value === '')
      throw new TypeError(`${id}: params.${name} must be given, as a string`);
  }
}

function takes(row: Operation, member: (typeof MEMBERS)[number]): boolean {
  return member === 'signal' || member === 'traceId' || row[member] !== undefined;
}
