import type { Json } from '../../contract/json.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { rawText, type Showing, withLineEnd } from './render-result.ts';
import { type Format, idPathOf, type Rendered, type RenderOptions, type ResultView } from './result-view.ts';
import { selectField } from './select-field.ts';

/** Functions that return the text of a page of items and of the list's end. `isFirst` is true before any output. */
interface ItemFormat {
  readonly page: (items: readonly Json[], isFirst: boolean) => string | Promise<string>;
  readonly end?: (isEmpty: boolean) => string | Rendered | Promise<string | Rendered>;
}

type MakeFormat = (view: ResultView, options: RenderOptions, note: (text: string) => void) => ItemFormat;

const lines = (items: readonly Json[], print: (item: Json) => string) =>
  items.map((item) => `${print(item)}\n`).join('');

/** The formats of `--all`. JSON has the envelope of a page without its pagination. Only a table keeps all, to compute its widths. */
const FORMATS: Readonly<Record<Format, MakeFormat>> = {
  ndjson: () => ({ page: (items) => lines(items, stringifyJson) }),
  json: () => ({
    page: (items, isFirst) =>
      items.map((item, at) => `${isFirst && at === 0 ? '{"data":[' : ','}${stringifyJson(item)}`).join(''),
    end: (isEmpty) => (isEmpty ? '{"data":[]}\n' : ']}\n'),
  }),
  csv: ({ columns }) => ({
    page: async (items, isFirst) => (await import('./csv.ts')).renderCsv(items, columns, isFirst),
    end: async (isEmpty) => (isEmpty ? (await import('./csv.ts')).renderCsv([], columns, true) : ''),
  }),
  table: (view, options) => {
    const kept: Json[] = [];
    return {
      page: (items) => {
        kept.push(...items);
        return '';
      },
      end: async () => (await import('./table.ts')).renderAllItems(kept, view, options),
    };
  },
};

/** The formats of an endless list, which print each item as one line when it arrives. */
const ENDLESS: Readonly<Partial<Record<Format, MakeFormat>>> = {
  json: FORMATS.ndjson,
  table: (view, options, note) => {
    let draw: ReturnType<typeof import('./table.ts').createEndlessTable> | undefined;
    return {
      async page(items) {
        draw ??= (await import('./table.ts')).createEndlessTable(view, options, note);
        return draw(items);
      },
    };
  },
};

/** Prints the items of a list page by page. */
export type ItemPrinter = ReturnType<typeof createItemPrinter>;

/**
 * Creates a printer of list items. `write` prints text on stdout, and `note` prints a remark on stderr. A field is a
 * path in an item; the printer prints an empty line for an item without it.
 */
export function createItemPrinter(
  view: ResultView,
  showing: Showing,
  write: (text: string) => Promise<void>,
  note: (text: string) => void,
) {
  const { page, end } = formatOf(view, showing, note);
  let isEmpty = true;
  return {
    async print(items: readonly Json[]): Promise<void> {
      if (items.length === 0) return;
      const text = await page(items, isEmpty);
      isEmpty = false;
      if (text !== '') await write(text);
    },
    /** Prints the text after the last item. */
    async end(): Promise<void> {
      const rendered = (await end?.(isEmpty)) ?? '';
      const { text, note: word = isEmpty ? view.emptyNote : undefined }: Rendered =
        typeof rendered === 'string' ? { text: rendered } : rendered;
      if (text !== '') await write(text);
      if (word !== undefined) note(word);
    },
  };
}

function formatOf(view: ResultView, showing: Showing, note: (text: string) => void): ItemFormat {
  const { field, quiet, format, endless } = showing;
  const path = quiet ? idPathOf(view) : field;
  if (path === undefined) return ((endless && ENDLESS[format]) || FORMATS[format])(view, showing, note);
  return { page: (items) => items.map((item) => withLineEnd(rawText(selectField(item, path)))).join('') };
}
