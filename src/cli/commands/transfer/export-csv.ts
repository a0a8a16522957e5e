import { parseText } from '../../../client/decode-problem.ts';
import { JsonText, type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { type CsvCell, csvText, withoutGuard } from '../../output/csv.ts';
import type { ImportRow } from './import-row.ts';
import { MASKED } from './read-rows.ts';

/** A row of an export, by member. */
export type ExportRow = Readonly<Record<string, Printable | undefined>>;

/** The columns of a CSV export. It lacks masks and other expressions. */
const COLUMNS = ['id', 'type', 'data', 'masked', 'containers', 'metadata', 'expires_at'] as const;

/** The columns that are always text. */
const TEXTS: ReadonlySet<string> = new Set(['id', 'type', 'expires_at']);

/** Resolves to the header of a CSV export. */
export const exportHeader = (): Promise<string> => csvText([COLUMNS]);

/** Resolves to rows of a CSV export. Texts are raw, and everything else is JSON. */
export function exportLines(rows: readonly ExportRow[]): Promise<string> {
  return csvText(rows.map((row) => COLUMNS.map((column) => cellOf(row[column], column === 'data'))));
}

/** Returns a cell. With `isExact`, a text that could be taken for JSON, or that a CSV cannot hold, is quoted as JSON. */
function cellOf(value: Printable | undefined, isExact: boolean): CsvCell {
  if (value === undefined) return '';
  const json = stringifyJson(value);
  const text = json.startsWith('"') ? String(parseText(json)) : undefined;
  const isPlain = (plain: string) =>
    !isExact || (plain !== '' && !plain.includes('\0') && parseText(plain) === undefined);
  return text !== undefined && isPlain(text) ? text : new JsonText(json);
}

/** Returns whether a CSV with this header comes from `vault export`, even if columns were added, moved or removed. */
export function isExportHeader(header: readonly string[]): boolean {
  return header.includes('masked') && header.includes('type');
}

/** Returns the columns that a CSV export lacks. */
export const addedColumns = (header: readonly string[]): readonly string[] =>
  header.filter((name) => !COLUMNS.some((column) => column === name));

/** Returns the function that makes the Create Token body of a row of a CSV export. Marks a row without data as rejected. */
export function exportedRowOf(header: readonly string[]) {
  const at = COLUMNS.map((column) => [column, header.indexOf(column)] as const);
  return (cells: readonly string[]): Pick<ImportRow, 'body' | 'refused'> => {
    const members = at.flatMap(([column, index]) => {
      const cell = withoutGuard(cells[index] ?? '');
      if (cell === '' || column === 'masked') return [];
      const isJson = !TEXTS.has(column) && parseText(cell) !== undefined;
      return [`${JSON.stringify(column)}:${isJson ? cell : JSON.stringify(cell)}`];
    });
    return { body: `{${members.join(',')}}`, ...(cells[header.indexOf('data')] === '' && { refused: MASKED }) };
  };
}
