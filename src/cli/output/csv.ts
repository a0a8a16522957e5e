import type { Json } from '../../contract/json.ts';
import { cellText, cellValue } from './result-view.ts';

/** Resolves to items as CSV (RFC 4180). Begins with a header row if `isFirst`. */
export async function renderCsv(items: readonly Json[], columns: readonly string[], isFirst: boolean): Promise<string> {
  const rows = items.map((item) => columns.map((column) => cellText(cellValue(item, column))));
  return csvText(isFirst ? [columns, ...rows] : rows);
}

/** Resolves to rows as CSV. Adds an apostrophe before text that a spreadsheet would run as a formula. */
export async function csvText(rows: readonly (readonly string[])[]): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  return stringify([...rows], { escape_formulas: true });
}
