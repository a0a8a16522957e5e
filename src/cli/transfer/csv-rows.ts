import { TOKEN_TYPE_NAMES, type TokenType } from '../../contract/token-types.ts';
import { Fault } from '../../core/fault.ts';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import { nearestName } from '../../core/nearest-name.ts';
import type { ImportRow } from './import-row.ts';
import type { CsvRecord } from './read-csv.ts';

/** Members of `data` that are numbers: a CSV has texts only. Of the types whose `data` is an object. */
const DATA_MEMBERS: Partial<Record<TokenType, Readonly<Record<string, 'text' | 'number'>>>> = {
  card: { number: 'text', expiration_month: 'number', expiration_year: 'number', cvc: 'text' },
  bank: { routing_number: 'text', account_number: 'text' },
};

/** What a column may go to besides `data`. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'expires_at']);

/** Which column each member is read from, as `--map` names them: `number` or `data`, `id`, `expires_at`, `metadata.NAME`. */
export type ColumnMap = ReadonlyMap<string, string>;

/** Parses `member=column` words. Throws the fault `usage`. */
export function parseColumnMap(words: readonly string[], type: TokenType): ColumnMap {
  const members = Object.keys(DATA_MEMBERS[type] ?? { data: 'text' });
  const map = new Map<string, string>();
  for (const word of words) {
    const at = word.indexOf('=');
    const [member, column] = [word.slice(0, at), word.slice(at + 1)];
    if (at < 1 || column === '') throw new Fault('usage', '--map is member=column, such as number=pan');
    const known = [...members, ...OWN_MEMBERS];
    if (!known.includes(member) && !/^metadata\.[^.]/.test(member)) {
      const near = nearestName(member, known);
      throw new Fault('usage', `--map: a ${type} has no member ${member}`, {
        hint: near === undefined ? `one of ${known.join(', ')}, metadata.NAME` : `did you mean ${near}?`,
      });
    }
    if (map.has(member)) throw new Fault('usage', `--map: ${member}= is given twice`);
    map.set(member, column);
  }
  if (!members.some((member) => map.has(member))) {
    throw new Fault('usage', `--map must name a column for ${members.join(', ')}`, { hint: '--map number=pan' });
  }
  return map;
}

/** Throws the fault `usage` for a name that is no type. */
export function parseTokenType(text: string): TokenType {
  const type = TOKEN_TYPE_NAMES.find((name) => name === text);
  if (type !== undefined) return type;
  throw new Fault('usage', `--type: there is no type ${text}`, { hint: `one of ${TOKEN_TYPE_NAMES.join(', ')}` });
}

/**
 * Create Token bodies of the records behind a header. Empty cells are members that are left out. Columns that the map does not
 * name are passed over. Throws the fault `usage` when there is no such column, or a record has another number of cells.
 */
export async function* csvRows(
  records: AsyncIterable<CsvRecord>,
  type: TokenType,
  map: ColumnMap,
): AsyncGenerator<ImportRow> {
  let header: readonly string[] | undefined;
  let at = new Map<string, number>();
  for await (const { line, cells } of records) {
    if (header === undefined) {
      header = cells;
      at = new Map([...map].map(([member, column]) => [member, columnOf(cells, column)]));
      continue;
    }
    if (cells.length !== header.length) {
      throw new Fault('usage', `line ${line} of the CSV has ${cells.length} cells, the header ${header.length}`);
    }
    yield { line, body: bodyOf(type, at, cells) };
  }
}

function columnOf(header: readonly string[], column: string): number {
  const index = header.indexOf(column);
  if (index >= 0) return index;
  throw new Fault('usage', `the CSV has no column ${column}`, { hint: `it has ${header.join(', ')}` });
}

function bodyOf(type: TokenType, at: ReadonlyMap<string, number>, cells: readonly string[]): string {
  const data: Record<string, Printable> = {};
  const metadata: Record<string, string> = {};
  const own: Record<string, string> = {};
  const kinds = DATA_MEMBERS[type];
  for (const [member, index] of at) {
    const text = cells[index] ?? '';
    if (text === '') continue;
    if (member.startsWith('metadata.')) metadata[member.slice('metadata.'.length)] = text;
    else if (OWN_MEMBERS.has(member)) own[member] = text;
    // A number that is none stays a text: the vault says what is wrong with it.
    else data[member] = kinds?.[member] === 'number' && /^\d{1,9}$/.test(text) ? Number(text) : text;
  }
  return stringifyJson({
    ...own,
    type,
    data: kinds === undefined ? data['data'] : data,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  });
}
