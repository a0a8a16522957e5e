import { EXIT_CODES, exitCodeOf } from '../../src/cli/exit/exit-codes.ts';
import { FAULTS } from '../../src/contract/faults.ts';
import { FILTER_EXAMPLES } from '../../src/contract/filter-examples.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import { PROBLEMS } from '../../src/contract/problems.ts';
import { TOKEN_TYPES, type TokenTypeRow } from '../../src/contract/token-types.ts';
import { signatureOf } from '../../src/core/expressions/filter.ts';
import { FILTERS } from '../../src/core/expressions/filters.ts';
import { FORMAT_TABLES } from './format-tables.ts';
import { anchor, code, codes, table } from './markdown.ts';
import { commandOf, objectReference, operationReference } from './operation-reference.ts';

/** Returns the codes of errors by their exit code. */
function errorCodes(): Readonly<Record<number, readonly string[]>> {
  const found: Record<number, Set<string>> = {};
  const add = (exit: number, name: string) => {
    found[exit] = (found[exit] ?? new Set()).add(name);
  };
  for (const [name, { exit }] of Object.entries(FAULTS)) add(exit, name);
  for (const [name, { status }] of Object.entries(PROBLEMS)) add(exitCodeOf(status, name), name);
  return Object.fromEntries(Object.entries(found).map(([exit, names]) => [exit, [...names].sort()]));
}

/** The generated parts of README and docs, by the names of their markers. */
export const REFERENCE_TABLES: Readonly<Record<string, () => string>> = {
  operations: () =>
    table(
      ['operation', 'request', 'permission', 'success', 'command'],
      Object.values(OPERATIONS).map((row: Operation) => [
        `[${row.summary}](http-api.md#${anchor(row.summary)})`,
        code(`${row.method} ${row.path}`),
        row.permission === undefined ? 'any valid key' : code(row.permission),
        String(row.status),
        code(commandOf(row)),
      ]),
    ),
  reference: operationReference,
  objects: objectReference,
  permissions: () =>
    table(
      ['permission', 'application types', 'allows'],
      Object.entries(PERMISSIONS).map(([name, row]) => [code(name), row.types.join(', '), row.allows]),
    ),
  problems: () =>
    table(
      ['status', 'code', 'meaning'],
      Object.entries(PROBLEMS)
        .sort(([, a], [, b]) => a.status - b.status)
        .map(([name, row]) => [String(row.status), code(name), row.detail]),
    ),
  'exit-codes': () =>
    table(
      ['exit code', 'meaning'],
      Object.entries(EXIT_CODES).map(([exit, meaning]) => [exit, meaning]),
    ),
  'error-codes': () =>
    table(
      ['exit code', '`code`'],
      Object.entries(errorCodes()).map(([exit, names]) => [exit, codes(names)]),
    ),
  'token-types': () =>
    table(
      ['type', '`data` is', 'container', 'mask', 'search indexes'],
      Object.entries(TOKEN_TYPES).map(([name, row]: [string, TokenTypeRow]) => [
        code(name),
        row.summary,
        code(row.container),
        row.mask === undefined ? 'none' : code(typeof row.mask === 'string' ? row.mask : JSON.stringify(row.mask)),
        row.search_indexes ? codes(row.search_indexes) : 'none',
      ]),
    ),
  filters: () =>
    table(
      ['filter and arguments', 'returns', 'example'],
      Object.entries(FILTERS).map(([name, filter]) => {
        const [summary = '', call = '', data = '', result = ''] = FILTER_EXAMPLES[name] ?? [];
        const example = `${data} | ${call} → ${result.startsWith('/') ? 'random' : result}`;
        return [code(signatureOf(name, filter)), summary, code(example)];
      }),
    ),
  ...FORMAT_TABLES,
};

const MARKED = /<!-- table: ([a-z-]+) -->\n.*?<!-- end -->/gs;

/** Returns the text with every marked table regenerated. */
export function withReferenceTables(text: string): string {
  return text.replace(MARKED, (_marked, name: string) => {
    const make = REFERENCE_TABLES[name];
    if (!make) throw new Error(`no such table: ${name}`);
    return `<!-- table: ${name} -->\n${make()}\n<!-- end -->`;
  });
}
