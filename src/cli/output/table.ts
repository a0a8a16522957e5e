import type { Json } from '../../contract/json.ts';
import { memberNames } from '../../core/json/member-names.ts';
import { stripControlCharacters } from './control-characters.ts';
import { displayWidth, fitWidths } from './display-width.ts';
import {
  asObject,
  cellText,
  cellValue,
  itemsOf,
  type Rendered,
  type RenderOptions,
  type ResultView,
} from './result-view.ts';
import { selectField } from './select-field.ts';

const GAP = '  ';
const LEAST_WIDTH = 8;

/** No lines: what is on a terminal is copied, cut and searched. */
const CHARACTERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: GAP,
} as const;

/** A list becomes a table with one row an item and no empty columns, one thing a table of its members. */
export async function renderTable(body: Json, view: ResultView, options: RenderOptions): Promise<Rendered> {
  if (!view.list) return { text: await layOut(undefined, membersOf(body, view), options) };
  const items = itemsOf(body, view);
  const used = view.columns.filter((column) => items.some((item) => cellValue(item, column) !== undefined));
  const columns = items.length === 0 ? view.columns : used;
  const rows = items.map((item) => columns.map((column) => cellText(cellValue(item, column))));
  const note = pageNote(body);
  return { text: await layOut(columns, rows, options), ...(note !== undefined && { note }) };
}

/** Name and value, the columns first; what the result lacks has no row. */
function membersOf(body: Json, view: ResultView): readonly (readonly string[])[] {
  const object = asObject(body);
  const others =
    object === undefined || !view.rest ? [] : memberNames(object).filter((name) => !view.columns.includes(name));
  const shown = view.columns.map((column) => [column, cellValue(body, column)] as const);
  const rest = others.map((name) => [name, object?.[name]] as const);
  return [...shown, ...rest].flatMap(([name, value]) => (value === undefined ? [] : [[name, cellText(value)]]));
}

function pageNote(body: Json): string | undefined {
  const total = selectField(body, ['pagination', 'total_items']);
  if (total === undefined) return undefined;
  const page = cellText(selectField(body, ['pagination', 'page_number']));
  const pages = cellText(selectField(body, ['pagination', 'total_pages']));
  return total === 0 ? 'no items' : `page ${page} of ${pages}, ${cellText(total)} ${total === 1 ? 'item' : 'items'}`;
}

async function layOut(
  head: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
  options: RenderOptions,
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const names = await namePainter(options);
  const safe = rows.map((row) => row.map(stripControlCharacters));
  const lines = head === undefined ? safe : [head.map((name) => name.toUpperCase()), ...safe];
  const columns = Math.max(0, ...lines.map((line) => line.length));
  const natural = Array.from({ length: columns }, (_, at) =>
    Math.max(1, ...lines.map((line) => displayWidth(line[at] ?? ''))),
  );
  const available = (options.width ?? Number.POSITIVE_INFINITY) - GAP.length * Math.max(0, columns - 1);
  const table = new Table({
    chars: CHARACTERS,
    colWidths: [...columnWidths(natural, available)],
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const [place, line] of lines.entries()) {
    table.push(line.map((cell, at) => ((head === undefined ? at === 0 : place === 0) ? names(cell) : cell)));
  }
  // cli-table3 fills the last column with spaces.
  return `${table.toString().replace(/ +$/gm, '')}\n`;
}

/** The first column, an id or a name, stays whole where it leaves two fifths of the line to the others. */
function columnWidths(natural: readonly number[], available: number): readonly number[] {
  const [first = 0, ...others] = natural;
  if (first > available * 0.6) return fitWidths(natural, available, LEAST_WIDTH);
  return [first, ...fitWidths(others, available - first, LEAST_WIDTH)];
}

async function namePainter(options: RenderOptions): Promise<(text: string) => string> {
  if (!options.colour) return (text) => text;
  const { Chalk } = await import('chalk');
  return new Chalk({ level: 1 }).bold;
}
