import { Chalk } from 'chalk';
import type { Json } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { isJsonObject, memberNames } from '../../core/json/kind.ts';
import { stripControlCharacters } from './control-characters.ts';
import { cutToWidth, displayWidth, fitWidths, wrapToWidth } from './display-width.ts';
import { briefText, detailRows, isCard, memberSchema } from './readable-text.ts';
import {
  cellText,
  cellValue,
  firstPageNote,
  itemSchema,
  itemsOf,
  KEY_PATHS,
  type Rendered,
  type RenderOptions,
  type ResultView,
} from './result-view.ts';
import { parsePath, selectField } from './select-field.ts';

const GAP = '  ';
/** The minimum width of a column. A column that would be narrower is hidden. */
const MIN_WIDTH = 10;

type Line = readonly string[];

/**
 * Returns a result as a table: a list with one line per item and without empty columns, a single result with one
 * line per value. Draws no rules, so that users can copy, cut and search the output. Times are local.
 */
export function renderTable(body: Json, view: ResultView, options: RenderOptions): Rendered {
  if (!view.list) return { text: drawDetails(detailsOf(body, view), options) };
  return renderRows(itemsOf(body, view), view, options, pageNote(body));
}

/** Returns the items of several pages as one table. */
export function renderAllItems(items: readonly Json[], view: ResultView, options: RenderOptions): Rendered {
  const note = items.length === 0 ? (view.emptyNote ?? 'no items') : countNote(items.length);
  return renderRows(items, view, options, note);
}

function renderRows(
  items: readonly Json[],
  view: ResultView,
  options: RenderOptions,
  note: string | undefined,
): Rendered {
  const used = view.columns.filter((column) => items.some((item) => cellValue(item, column) !== undefined));
  const columns = view.areChosen || items.length === 0 ? view.columns : used;
  const { lines, widths } = layOut(items, columns, view, options);
  const text = drawTable(lines, widths, options);
  const hint = hiddenNote(columns, widths);
  const notes = [note, hint].filter(Boolean);
  return { text, note: notes.join('; ') || undefined };
}

/**
 * Returns a function that renders the next items as rows of one table. The first call prints the head and fixes the visible
 * columns; `note` reports hidden ones.
 */
export function createEndlessTable(view: ResultView, options: RenderOptions, note: (text: string) => void) {
  let widths: readonly number[] | undefined;
  return (items: readonly Json[]): string => {
    const { columns } = view;
    const next = layOut(items, columns, view, options);
    if (widths === undefined) {
      widths = next.widths;
      const hidden = hiddenNote(columns, widths);
      if (hidden !== undefined) note(hidden);
      return drawTable(next.lines, widths, options);
    }
    // A column grows for a cell that may not be cut, such as an id.
    const isWhole = (at: number) => options.width === undefined || next.rigid[at];
    widths = widths.map((width, at) => (isWhole(at) ? Math.max(width, next.widths[at] ?? 0) : width));
    return drawTable(next.lines, widths, options, false);
  };
}

/** Returns the cells of a table, the head first, with the widths of the visible columns. A rigid column is never cut. */
function layOut(items: readonly Json[], columns: readonly string[], view: ResultView, options: RenderOptions) {
  const schemas = columns.map((column) => columnSchema(view, column));
  const rows = items.map((item) =>
    columns.map((column, at) =>
      steady(
        stripControlCharacters(
          briefText(cellValue(item, column), schemas[at], view.exactTimes ? 'seconds' : 'minutes'),
        ),
      ),
    ),
  );
  const lines = [columns.map((column) => column.toUpperCase()), ...rows];
  const natural = columns.map((_, at) => Math.max(...lines.map((line) => displayWidth(line[at] ?? ''))));
  const isId = (column: string) => column === view.idMember || /(?:^|[._])(?:id|by|entities)$/.test(column);
  const rigid = columns.map((column, at) => schemas[at]?.format === 'date-time' || isId(column));
  const cards = columns.map((column, at) => {
    const isShown = items.map((item) => isCard(cellValue(item, column)));
    return Math.max(MIN_WIDTH, ...rows.map((row, line) => (isShown[line] ? displayWidth(row[at] ?? '') : 0)));
  });
  const widths = chooseWidths(natural, rigid, cards, options.width, view.areChosen ? columns.length : 1);
  return { lines, rigid, widths };
}

function drawTable(lines: readonly Line[], widths: readonly number[], options: RenderOptions, hasHead = true): string {
  const shown = hasHead ? lines : lines.slice(1);
  const cells = shown.map((line) => widths.map((width, at) => cutToWidth(line[at] ?? '', width)));
  return draw(cells, widths, (cell, row) => (hasHead && row === 0 ? bold(cell, options) : cell));
}

function hiddenNote(columns: readonly string[], widths: readonly number[]): string | undefined {
  const hidden = columns.slice(widths.length);
  return hidden.length > 0 ? `hidden columns: ${hidden.join(', ')} (choose with --columns)` : undefined;
}

/**
 * Returns the widths of the visible columns. Hides columns from the right, down to `keep`. The first column, an id or a
 * name, keeps its width if that leaves two fifths of the line to the others. A column of ids or times is shown in full
 * width or hidden, and a card is not cut; columns that `keep` protects may be wider than the terminal. `natural` are the
 * full widths of the columns, `rigid` whether each must keep it, and `least` the smallest widths of the others.
 */
function chooseWidths(
  natural: readonly number[],
  rigid: readonly boolean[],
  least: readonly number[],
  width: number | undefined,
  keep: number,
): readonly number[] {
  if (width === undefined) return natural;
  for (let count = natural.length; count > 1 && count >= keep; count -= 1) {
    const available = width - GAP.length * (count - 1);
    const isWhole = (at: number) => (rigid[at] ?? false) || (at === 0 && (natural[0] ?? 0) <= available * 0.6);
    const whole = natural.map((one, at) => (at < count && isWhole(at) ? one : 0)).reduce((sum, one) => sum + one, 0);
    const isOther = (_: number, at: number) => at < count && !isWhole(at);
    const fitted = [...fitWidths(natural.filter(isOther), available - whole, least.filter(isOther))];
    if (count > keep && whole + fitted.reduce((sum, one) => sum + one, 0) > available) continue;
    return natural.slice(0, count).map((one, at) => (isWhole(at) ? one : (fitted.shift() ?? 0)));
  }
  return natural.slice(0, 1).map((one) => (rigid[0] ? one : Math.min(one, Math.max(width, least[0] ?? 0))));
}

/**
 * Returns the path and text of each value of a single result, the columns first. Omits members that it lacks. A new API
 * key is last, after an empty line.
 */
function detailsOf(body: Json, view: ResultView): readonly Line[] {
  const isOther = (name: string) => !view.columns.some((column) => parsePath(column)[0] === name);
  const others = isJsonObject(body) && view.rest ? memberNames(body).filter(isOther) : [];
  const names = [...view.columns, ...others];
  const ordered = [...names.filter((name) => !KEY_PATHS.has(name)), ...names.filter((name) => KEY_PATHS.has(name))];
  return ordered.flatMap((column) => {
    const value = view.columns.includes(column) ? cellValue(body, column) : selectField(body, [column]);
    if (value === undefined) return [];
    const rows = detailRows(column, value, columnSchema(view, column)).map((row) => row.map(stripControlCharacters));
    return KEY_PATHS.has(column) ? [[], ...rows] : rows;
  });
}

function drawDetails(rows: readonly Line[], options: RenderOptions): string {
  const { width = Number.POSITIVE_INFINITY } = options;
  const widest = (at: 0 | 1) => Math.max(0, ...rows.map((row) => displayWidth(row[at] ?? '')));
  // Half of the line, or the space that the values leave.
  const nameWidth = Math.min(widest(0), Math.max(Math.floor(width / 2), width - GAP.length - widest(1)));
  const valueWidth = width - nameWidth - GAP.length;
  const lines = rows.flatMap(([name = '', value = '']): readonly Line[] => {
    // Wrap a long name instead of cutting it, because `--field` needs the whole name.
    const isLong = displayWidth(name) > nameWidth;
    const own = isLong ? wrapToWidth(name, width).map((line) => [line]) : [];
    const values = wrapToWidth(value, valueWidth).map((line, at) => [at === 0 && !isLong ? name : '', line]);
    return [...own, ...values];
  });
  return draw(lines, [nameWidth], (cell, _, column) => (column === 0 && cell !== '' ? bold(cell, options) : cell));
}

/**
 * Returns rows as text, with each cell painted. Cells must have no control characters. No line ends with a space. The
 * last cell of a row is not padded: another may have a mebibyte.
 */
function draw(
  rows: readonly Line[],
  widths: readonly number[],
  paint: (cell: string, row: number, column: number) => string,
): string {
  const padding = (cell: string, column: number) => ' '.repeat((widths[column] ?? 0) - displayWidth(cell));
  const lines = rows.map((cells, row) =>
    cells.map((cell, at) => paint(cell, row, at) + (at < cells.length - 1 ? padding(cell, at) : '')).join(GAP),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function columnSchema(view: ResultView, column: string): Schema | undefined {
  return parsePath(column).reduce<Schema | undefined>((at, step) => memberSchema(at, String(step)), itemSchema(view));
}

/** Removes skin tones and emoji marks: terminals disagree on their width, so columns would not align. */
function steady(text: string): string {
  return text.replace(/(?<=\p{Extended_Pictographic})\p{Emoji_Modifier}|\ufe0f/gu, '');
}

function pageNote(body: Json): string | undefined {
  const total = selectField(body, ['pagination', 'total_items']);
  if (total === undefined) {
    const next = selectField(body, ['pagination', 'next']);
    return next === undefined ? undefined : `next page: --start ${cellText(next)}`;
  }
  const page = cellText(selectField(body, ['pagination', 'page_number']));
  const pages = cellText(selectField(body, ['pagination', 'total_pages']));
  return total === 0
    ? 'no items'
    : (firstPageNote(body) ?? `page ${page} of ${pages}, ${countNote(Number(cellText(total)))}`);
}

function countNote(count: number): string {
  return `${count} ${count === 1 ? 'item' : 'items'}`;
}

/** Returns a text in bold if colours are wanted. The options decide, not chalk's own look at the terminal. */
function bold(text: string, { colour }: RenderOptions): string {
  return new Chalk({ level: colour ? 1 : 0 }).bold(text);
}
