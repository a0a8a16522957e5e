import { parseText } from '../../../client/decode-problem.ts';
import { JsonText, type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { type CsvCell, csvText } from '../../output/csv.ts';

/** A row of an export, by member. */
export type ExportRow = Readonly<Record<string, Printable | undefined>>;

/** The columns of a CSV export. It lacks masks and other expressions. */
const COLUMNS = ['id', 'type', 'data', 'masked', 'containers', 'metadata', 'expires_at'] as const;

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

/** Returns whether a column is one of a CSV export. */
export const isExportColumn = (name: string | undefined): boolean => COLUMNS.some((column) => column === name);
