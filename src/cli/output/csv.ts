import type { Json } from '../../contract/json.ts';
import { JsonNumber } from '../../core/json/kind.ts';
import { JsonText } from '../../core/json/stringify.ts';
import { cellText, cellValue } from './result-view.ts';

/** A cell: text, or JSON such as a number, which is no formula. */
export type CsvCell = string | JsonText;

/** Resolves to items as CSV (RFC 4180). Begins with a header row if `isFirst`. */
export async function renderCsv(items: readonly Json[], columns: readonly string[], isFirst: boolean): Promise<string> {
  const rows = items.map((item) => columns.map((column) => cellOf(cellValue(item, column))));
  return csvText(isFirst ? [columns, ...rows] : rows);
}

function cellOf(value: Json | undefined): CsvCell {
  const isNumber = typeof value === 'number' || value instanceof JsonNumber;
  return isNumber ? new JsonText(cellText(value)) : cellText(value);
}

/** Resolves to rows as CSV. Adds an apostrophe before text that a spreadsheet would run as a formula. */
export async function csvText(rows: readonly (readonly CsvCell[])[]): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  return stringify(rows.map((cells) => cells.map(guarded)));
}

const guarded = (cell: CsvCell): string =>
  typeof cell === 'string' ? (isFormula(cell) ? `'${cell}` : cell) : cell.text;

/** Returns whether `csvText` adds an apostrophe to a text. Text that has one already gets another, so that `withoutGuard` is exact. */
const isFormula = (text: string): boolean => /^'*[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/.test(text);

/** Returns a cell without the apostrophe that `csvText` added. */
export function withoutGuard(cell: string): string {
  return cell.startsWith("'") && isFormula(cell.slice(1)) ? cell.slice(1) : cell;
}
