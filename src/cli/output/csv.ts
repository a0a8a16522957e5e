import type { Json } from '../../contract/json.ts';
import { cellText, cellValue, itemsOf, type Rendered, type ResultView } from './result-view.ts';

/** RFC 4180 with a header row. */
export async function renderCsv(body: Json, view: ResultView): Promise<Rendered> {
  const rows = itemsOf(body, view).map((item) => view.columns.map((column) => cellText(cellValue(item, column))));
  return { text: await csvText([view.columns, ...rows]) };
}

/** A text that a spreadsheet would run as a formula gets an apostrophe in front. */
export async function csvText(rows: readonly (readonly string[])[]): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  return stringify([...rows], { escape_formulas: true });
}
