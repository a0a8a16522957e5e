import type { JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { objectOfMembers } from '../../../core/json/kind.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import type { AppliedSeed } from './apply-seed.ts';
import type { SeedChange } from './compare-item.ts';
import type { SeedDocument } from './seed-document.ts';

/** The formats of ids and keys. */
export const OUT_FORMATS = ['json', 'dotenv'] as const;
export type OutFormat = (typeof OUT_FORMATS)[number];

/** Placeholders that are longer than any application id and API key, to estimate the size of a file. */
const MAX_ID = '0'.repeat(64);
const MAX_KEY = '0'.repeat(256);

/** Returns `{ apps: { web: { id, key? } }, tokens: { visa: id, cards: [ids] } }`, in the order of the files. */
export function seededIds({ apps }: Pick<AppliedSeed, 'apps'>, document: SeedDocument): JsonObject {
  const tokens = new Map<string, string | string[]>();
  for (const { item, id, generated } of document.tokens) {
    const many = tokens.get(item);
    if (Array.isArray(many)) many.push(id);
    else tokens.set(item, generated ? [id] : id);
  }
  const known = document.apps.flatMap(({ item }) => {
    const one = apps.get(item);
    return one === undefined ? [] : [[item, { id: one.id, ...(one.key !== undefined && { key: one.key }) }] as const];
  });
  const members = new Map([
    ['apps', objectOfMembers(new Map(known))],
    ['tokens', objectOfMembers(tokens)],
  ]);
  return objectOfMembers(members);
}

/**
 * Returns the ids and keys as variables: APP_WEB_ID, APP_WEB_KEY, TOKEN_VISA. The tokens of a generated item share two
 * variables, because an environment cannot hold ten thousand ids: TOKEN_CARDS is the first id without its number, and
 * TOKEN_CARDS_COUNT is their number.
 */
export function seededVariables(ids: JsonObject): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  const { apps, tokens } = ids as { readonly apps: JsonObject; readonly tokens: JsonObject };
  for (const [item, app] of Object.entries(apps)) {
    const { id, key } = app as { readonly id: string; readonly key?: string };
    variables.set(`APP_${nameOf(item)}_ID`, id);
    if (key !== undefined) variables.set(`APP_${nameOf(item)}_KEY`, key);
  }
  for (const [item, token] of Object.entries(tokens)) {
    const many = Array.isArray(token) ? token : undefined;
    variables.set(`TOKEN_${nameOf(item)}`, many === undefined ? String(token) : String(many[0]).replace(/-1$/, ''));
    if (many !== undefined) variables.set(`TOKEN_${nameOf(item)}_COUNT`, String(many.length));
  }
  return variables;
}

const nameOf = (item: string): string => item.toUpperCase().replaceAll('-', '_');

/** Returns the ids and keys as text in a format. Throws `usage` for an id that the format cannot hold. */
export function printIds(format: OutFormat, ids: JsonObject): string {
  if (format === 'json') return `${stringifyJson(ids)}\n`;
  // A shell and a dotenv reader take text in single quotes literally. Ids contain no line ends.
  const variables = [...seededVariables(ids)];
  const quoted = variables.find(([, value]) => value.includes("'"));
  if (quoted === undefined) return variables.map(([name, value]) => `${name}='${value}'\n`).join('');
  throw new Fault('usage', `--format dotenv: the id ${quoted[1]} contains a quote`, { hint: 'use --format json' });
}

/**
 * Runs `work`, writes its text to a new file (0600), and resolves to its result. The file appears only when it is
 * complete. Reserves disk space before the work runs, because the vault shows keys only once. Rejects with the faults
 * `file_exists`, `usage` and `no_space`.
 */
export async function withOutFile<T>(
  { file, format }: { readonly file: string; readonly format: OutFormat },
  document: SeedDocument,
  work: () => Promise<{ readonly text: string; readonly result: T }>,
): Promise<T> {
  const { reserveFile } = await import('../../files/whole-file.ts');
  const longest = new Map(document.apps.map(({ item }) => [item, { id: MAX_ID, key: MAX_KEY }]));
  const bytes = Buffer.byteLength(printIds(format, seededIds({ apps: longest }, document)));
  return reserveFile('--out', file, bytes, async (fill) => {
    const { text, result } = await work();
    await fill(text);
    return result;
  });
}

/** Returns the seed and the numbers of items by change. `withItems` adds the items that differ. */
export function seedSummary({ seed, changes }: AppliedSeed, withItems: boolean) {
  const count = (action: SeedChange['action']): number => changes.filter((one) => one.action === action).length;
  const counts = { seed, created: count('create'), changed: count('change'), unchanged: count('unchanged') };
  return { ...counts, ...(withItems && { data: changes.filter(({ action }) => action !== 'unchanged') }) };
}
