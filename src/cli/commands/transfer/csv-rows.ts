import { parseText } from '../../../client/decode-problem.ts';
import type { Json } from '../../../contract/json.ts';
import {
  type DataRule,
  type MemberRule,
  TOKEN_TYPE_NAMES,
  TOKEN_TYPES,
  type TokenType,
} from '../../../contract/token-types.ts';
import { Fault } from '../../../core/fault.ts';
import { JsonText, type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { nearestName } from '../../../core/nearest-name.ts';
import { withoutGuard } from '../../output/csv.ts';
import { asObject } from '../../output/result-view.ts';
import { isExportColumn, isExportHeader } from './export-csv.ts';
import type { ImportRow } from './import-row.ts';
import { MASKED, parseOrNothing, READ_ONLY } from './read-rows.ts';

/** A record of a CSV file; `line` is its first line, from 1. */
interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** The maximum length of a record. A longer record is reported as an unclosed quote. */
const MAX_RECORD_CHARACTERS = 16 * 1024 * 1024;
const LINE_END = /\r\n|\r|\n/g;

/** The part of a member's rule that matters for CSV. */
type DataMember = Pick<MemberRule, 'required' | 'kind'>;

/** The members of `data` for types whose `data` is not an object: one column fills all of `data`. */
const WHOLE_DATA: Readonly<Record<string, DataMember>> = { data: { required: true, kind: 'text' } };

/** Returns the members of a type's `data`, which columns may fill. */
function dataMembers(type: TokenType): Readonly<Record<string, DataMember>> {
  const rule: DataRule = TOKEN_TYPES[type].data;
  return rule.kind === 'object' ? rule.members : WHOLE_DATA;
}

/** The form of a cell for a member outside `data`: text, JSON (else text), or a list. */
type OwnKind = 'text' | 'json' | 'list';

/** The members outside `data` that a column may fill, besides single pairs of the metadata. */
const OWN_MEMBERS: Readonly<Record<string, OwnKind>> = {
  id: 'text',
  expires_at: 'text',
  containers: 'list',
  metadata: 'json',
  mask: 'json',
  search_indexes: 'list',
  fingerprint_expression: 'text',
  deduplicate_token: 'json',
};

/** The name of the column for each member that `--map` names: `number`, `data`, `id`, `containers`, `metadata.NAME`, …. */
export type ColumnMap = ReadonlyMap<string, string>;

/** Parses `member=column` words. Throws the fault `usage`. */
export function parseColumnMap(words: readonly string[], type: TokenType): ColumnMap {
  const members = dataMembers(type);
  const known = [...Object.keys(members), ...Object.keys(OWN_MEMBERS)];
  const map = new Map<string, string>();
  for (const word of words) {
    const at = word.indexOf('=');
    const [member, column] = [word.slice(0, at), word.slice(at + 1)];
    if (at < 1 || column === '') {
      throw new Fault('usage', `--map ${word}: must be member=column, such as ${known[0]}=COLUMN`);
    }
    if (!known.includes(member) && !/^metadata\.[^.]/.test(member)) {
      const near = nearestName(member, known);
      throw new Fault('usage', `--map: a ${type} has no member ${member}`, {
        hint: near === undefined ? `use one of ${known.join(', ')}, or metadata.NAME` : `did you mean ${near}?`,
      });
    }
    if (map.has(member)) throw new Fault('usage', `--map: ${member}= is given twice`);
    map.set(member, column);
  }
  return map;
}

/** Adds the columns whose names are members that the map lacks. Throws the fault `usage` for a missing member. */
function withEqualNames(map: ColumnMap, header: readonly string[], type: TokenType, members: DataMembers): ColumnMap {
  const isMember = (name: string) =>
    Object.hasOwn(members, name) || Object.hasOwn(OWN_MEMBERS, name) || /^metadata\.[^.]/.test(name);
  const mapped = new Set(map.values());
  const equal = header.filter((name) => isMember(name) && !map.has(name) && !mapped.has(name));
  const whole = new Map([...map, ...equal.map((name) => [name, name] as const)]);
  const unmapped = Object.entries(members).filter(([member]) => !whole.has(member));
  const lacking = (isRequired: boolean) =>
    unmapped.flatMap(([member, { required }]) => (required === isRequired ? [member] : []));
  const [missing, free] = [lacking(true), lacking(false)];
  // The vault would reject every row without a required member.
  if (missing.length === 0) return whole;
  const words = missing.map((member) => `--map ${member}=COLUMN`).join(' ');
  throw new Fault('usage', `--map must name the column of the ${type}'s ${missing.join(' and ')}`, {
    hint: free.length === 0 ? words : `${words}; ${free.join(', ')} may be left out`,
  });
}

/** Returns the token type of this name. Throws the fault `usage` for an unknown type. */
export function parseTokenType(text: string): TokenType {
  const type = TOKEN_TYPE_NAMES.find((name) => name === text);
  if (type !== undefined) return type;
  throw new Fault('usage', `--type: unknown type ${text}`, { hint: `one of ${TOKEN_TYPE_NAMES.join(', ')}` });
}

/**
 * Yields the records of RFC 4180 text that arrives in pieces, and skips empty lines. Accepts mixed line ends. Yields
 * all records before a broken one, and then throws the fault `invalid_data` with the first line of the broken record.
 */
export async function* readCsv(pieces: AsyncIterable<string>, delimiter = ','): AsyncGenerator<CsvRecord> {
  const { parse } = await import('csv-parse');
  const parsed: (readonly string[])[] = [];
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    max_record_size: MAX_RECORD_CHARACTERS,
    // Collect the records here, because a failing stream drops those that were not read yet.
    on_record: (cells) => {
      parsed.push(cells);
      return null;
    },
  });
  parser.on('error', () => undefined).resume();
  const settle = (send: (done: (error?: Error | null) => void) => void) =>
    new Promise<Error | undefined>((resolve) => send((error) => resolve(error ?? undefined)));
  let line = 1;

  function* records(): Generator<CsvRecord> {
    for (const cells of parsed.splice(0)) {
      if (cells.length > 1 || cells[0] !== '') yield { line, cells };
      // The parser counts a CRLF inside a cell as two lines.
      line += 1 + cells.reduce((sum, cell) => sum + (cell.match(LINE_END)?.length ?? 0), 0);
    }
  }

  for await (const piece of pieces) {
    // Find NUL characters here, because the parser treats one after a quote as the end of the text.
    const [text = '', ...others] = piece.split('\0', 2);
    const error = await settle((done) => parser.write(text, done));
    yield* records();
    if (error !== undefined) throw brokenCsv(line, error);
    if (others.length > 0) throw new Fault('invalid_data', `line ${line} of the CSV contains a NUL character`);
  }
  const error = await settle((done) => parser.end(done));
  yield* records();
  if (error !== undefined) throw brokenCsv(line, error);
}

function brokenCsv(line: number, error: Error): Error {
  if (!('code' in error)) return error;
  const isOpen = error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE';
  const what = isOpen ? 'a quote is not closed' : 'a quote is in the middle of a cell';
  return new Fault('invalid_data', `line ${line} of the CSV: ${what}`);
}

type ToRow = (cells: readonly string[]) => Omit<ImportRow, 'line'>;

/** The reason to reject a row of a list: its cell `7` may be a number or a text. */
const INEXACT = 'a CSV list does not distinguish JSON from text: use `vault tokens list -o ndjson`';

interface CsvOptions {
  /** The token type of all rows. Undefined for a CSV with a column `type`. */
  readonly type: TokenType | undefined;
  readonly map: readonly string[];
  /** Called with the columns that fill no member. */
  readonly onUnused: (columns: readonly string[]) => void;
}

/**
 * Yields Create Token bodies of the records below a header. A column whose name is a member fills it, unless the map
 * names another column. Empty cells become absent members. Throws the fault `usage` for a missing type or column, and
 * `invalid_data` for a record that has more or fewer cells than the header.
 */
export async function* csvRows(
  records: AsyncIterable<CsvRecord>,
  { type, map, onUnused }: CsvOptions,
): AsyncGenerator<ImportRow> {
  // For a CSV without --type, the map may name the column of the type.
  const typeWord = map.find((word) => word.startsWith('type='));
  const otherWords = map.filter((word) => word !== typeWord);
  let header: readonly string[] | undefined;
  let toRow: ToRow | undefined;
  for await (const { line, cells } of records) {
    if (header === undefined || toRow === undefined) {
      header = cells;
      refuseOtherDelimiter(cells, map);
      toRow = isExportHeader(cells) && type === undefined ? exported(cells) : rowOf(cells);
      continue;
    }
    if (cells.length !== header.length) {
      const first = header[cells.length];
      throw new Fault(
        'invalid_data',
        `line ${line} of the CSV has ${cells.length} cells, but the header has ${header.length}`,
        { hint: first === undefined ? 'put quotes around a cell with a comma' : `add a cell for the column ${first}` },
      );
    }
    yield { line, ...toRow(cells) };
  }

  function rowOf(names: readonly string[]) {
    const isList = names.includes('created_at') && names.includes('type');
    if (type !== undefined) {
      const toRow = rowOfType(names, type, []);
      return isList && type === 'token' ? () => ({ body: '{}', isRead: true, refused: INEXACT }) : toRow;
    }
    const typeColumn = typeWord?.slice('type='.length) ?? 'type';
    if (typeWord === undefined && !names.includes('type'))
      throw new Fault('usage', 'a CSV needs --type (VAULT_IMPORT_TYPE), such as card, or a column `type`');
    const typeAt = columnOf(names, 'type', typeColumn);
    const made = new Map<string, ToRow>();
    return (cells: readonly string[]) => {
      const own = TOKEN_TYPE_NAMES.find((name) => name === cells[typeAt]);
      if (own === undefined) return { body: '{}', refused: `type: must be one of ${TOKEN_TYPE_NAMES.join(', ')}` };
      const data = cells[names.indexOf('data')];
      if (isList && own === 'token') return { body: '{}', isRead: true, refused: INEXACT };
      if (isList && data === '') return { body: '{}', isRead: true, refused: MASKED };
      const toRow =
        made.get(own) ??
        rowOrRefusal(names, own, made.size === 0 ? [typeAt, ...ofOtherTypes(names, isList)] : names.keys());
      made.set(own, toRow);
      return isList ? { ...toRow(cells.map(withoutGuard)), isRead: true } : toRow(cells);
    };
  }

  /** Returns the row function of a CSV of an export, in which the map may keep added columns as metadata. */
  function exported(names: readonly string[]): ToRow {
    const kept = map.map((word) => {
      const [, member = '', column = ''] = /^(metadata\.[^=]+)=(.+)$/.exec(word) ?? [];
      if (member === '') throw new Fault('usage', `--map ${word}: a CSV of an export takes only metadata.NAME=COLUMN`);
      return [member, columnOf(names, member, column)] as const;
    });
    const added = names.filter((name, at) => !isExportColumn(name) && !kept.some(([, index]) => index === at));
    if (added.length > 0) onUnused(added);
    const own = ['data', ...Object.keys(OWN_MEMBERS)].filter((name) => isExportColumn(name) && names.includes(name));
    const at = new Map([...own.map((name) => [name, columnOf(names, name, name)] as const), ...kept]);
    const typeAt = names.includes('type') ? columnOf(names, 'type', 'type') : -1;
    return (cells) => {
      const plain = cells.map((cell, index) => (isExportColumn(names[index]) ? withoutGuard(cell) : cell));
      const body = bodyOf(plain[typeAt] || undefined, WHOLE_DATA, at, plain, false);
      return { body, ...(cells[names.indexOf('data')] === '' && { refused: MASKED }) };
    };
  }

  /** Returns the row function of a type, or one that rejects every row if a column is missing. */
  function rowOrRefusal(names: readonly string[], own: TokenType, known: Iterable<number>): ToRow {
    try {
      return rowOfType(names, own, known);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return () => ({ body: '{}', refused: error.message });
    }
  }

  /** Returns the function that makes a row of the type. Reports unused columns, except those that are `known`. */
  function rowOfType(names: readonly string[], own: TokenType, known: Iterable<number>): ToRow {
    const chosen = parseColumnMap(type === undefined ? otherWords : map, own);
    const members = type === undefined ? membersFor(own, names, chosen) : dataMembers(own);
    const whole = withEqualNames(chosen, names, own, members);
    const at = new Map([...whole].map(([member, column]) => [member, columnOf(names, member, column)]));
    const used = new Set([...known, ...at.values()]);
    const unused = names.filter((_name, index) => !used.has(index));
    if (unused.length > 0) onUnused(unused);
    return (cells: readonly string[]) => ({ body: bodyOf(own, members, at, cells, dataMembers(own) === WHOLE_DATA) });
  }
}

/** Returns the columns that fill a member in the rows of some type, and in a list the read-only ones. */
function ofOtherTypes(header: readonly string[], isList: boolean): readonly number[] {
  const ofTypes = TOKEN_TYPE_NAMES.flatMap((type) => Object.keys(dataMembers(type)));
  const all = new Set([...ofTypes, ...(isList ? READ_ONLY : [])]);
  return [...header.keys()].filter((at) => all.has(header[at] ?? ''));
}

type DataMembers = Readonly<Record<string, DataMember>>;

/** Returns the members that columns fill: those of the type, or all of `data` as JSON if only that has a column. */
function membersFor(type: TokenType, header: readonly string[], map: ColumnMap): DataMembers {
  const members = dataMembers(type);
  const isNamed = Object.keys(members).some((name) => header.includes(name) || map.has(name));
  return !isNamed && header.includes('data') ? WHOLE_DATA : members;
}

/** Throws the fault `usage` for a header that is one cell with another delimiter in it, unless the map names the cell. */
function refuseOtherDelimiter([only = '', ...others]: readonly string[], map: readonly string[]): void {
  const [found] = /[;\t|]/.exec(only) ?? [];
  if (found === undefined || others.length > 0 || map.some((word) => word.endsWith(`=${only}`))) return;
  throw new Fault('usage', 'the header of the CSV has one column', {
    hint: `pass --delimiter ${found === '\t' ? 'tab' : `'${found}'`}`,
  });
}

function columnOf(header: readonly string[], member: string, column: string): number {
  const index = header.indexOf(column);
  if (index >= 0 && header.indexOf(column, index + 1) < 0) return index;
  if (index >= 0) throw new Fault('invalid_data', `the CSV has several columns ${column}`);
  const near = nearestName(column, header);
  throw new Fault('usage', `--map ${member}=${column}: the CSV has no column ${column}`, {
    hint: near === undefined ? `its columns are ${header.join(', ')}` : `did you mean ${member}=${near}?`,
  });
}

/** Returns the body of a record. `isText` is whether a cell for all of `data` is a text even if it is JSON. */
function bodyOf(
  type: string | undefined,
  members: DataMembers,
  at: ReadonlyMap<string, number>,
  cells: readonly string[],
  isText: boolean,
): string {
  const data: Record<string, Printable> = {};
  const metadata: Record<string, string> = {};
  const own: Record<string, Printable> = {};
  for (const [member, index] of at) {
    const text = cells[index] ?? '';
    if (text === '') continue;
    const kind = Object.hasOwn(OWN_MEMBERS, member) ? OWN_MEMBERS[member] : undefined;
    if (member.startsWith('metadata.')) metadata[member.slice('metadata.'.length)] = text;
    else if (kind !== undefined) own[member] = ownValue(kind, text);
    // Keep a malformed number as text, so that the vault reports the error.
    else data[member] = members[member]?.kind === 'number' && /^\d{1,9}$/.test(text) ? Number(text) : text;
  }
  const whole = own['metadata'];
  const object = asObject((whole ?? {}) as Json);
  const pairs = { ...object, ...metadata };
  return stringifyJson({
    ...own,
    type,
    data: members !== WHOLE_DATA ? data : isText ? data['data'] : jsonOrText(data['data']),
    // The vault rejects metadata that is no object.
    metadata: object === undefined || Object.keys(pairs).length === 0 ? whole : pairs,
  });
}

/** Returns the data of a cell: JSON as it is, and any other cell as a text. */
function jsonOrText(cell: Printable | undefined): Printable | undefined {
  return typeof cell === 'string' && parseText(cell) !== undefined ? new JsonText(cell) : cell;
}

/** Returns the member's value for a cell. A list is JSON, else one expression or words between commas. */
function ownValue(kind: OwnKind, text: string): Printable {
  if (kind === 'text') return text;
  const value = parseOrNothing(text);
  if (kind === 'json') return value === undefined ? text : value;
  if (Array.isArray(value)) return value;
  return text.includes('{{') ? [text] : text.split(',').map((word) => word.trim());
}
