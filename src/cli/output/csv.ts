import type { Json } from '../../contract/json.ts';
import { cellText, cellValue, itemsOf, type Rendered, type ResultView } from './result-view.ts';

/** RFC 4180 with a header row. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
export async function renderCsv(body: Json, view: ResultView): Promise<Rendered> {
  const { stringify } = await import('csv-stringify/sync');
  const rows = itemsOf(body, view).map((item) => view.columns.map((column) => cellText(cellValue(item, column))));
  return { text: stringify([view.columns, ...rows], { escape_formulas: true }) };
}
