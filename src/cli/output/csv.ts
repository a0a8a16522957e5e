import type { Json } from '../../contract/json.ts';
import { cellText, cellValue } from './result-view.ts';

/** Renders items as CSV (RFC 4180), with a header row above the first. */
export async function renderCsv(items: readonly Json[], columns: readonly string[], isFirst: boolean): Promise<string> {
  const rows = items.map((item) => columns.map((column) => cellText(cellValue(item, column))));
  return csvText(isFirst ? [columns, ...rows] : rows);
}

/** Prefixes text that a spreadsheet would run as a formula with an apostrophe. */
export async function csvText(rows: readonly (readonly string[])[]): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  return stringify([...rows], { escape_formulas: true });
}
