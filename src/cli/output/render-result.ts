import type { Json } from '../../contract/json.ts';
import { Fault } from '../../core/fault.ts';
import { memberNames } from '../../core/json/kind.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import {
  asObject,
  cellText,
  type Format,
  idPathOf,
  itemSchema,
  itemsOf,
  listNote,
  type Rendered,
  type RenderOptions,
  type ResultView,
  tokensIn,
} from './result-view.ts';
import { checkField, findUnknown, parsePath, printPath, type Step, selectField } from './select-field.ts';

/** The selected output of a result, one member, only ids, or the whole result in a format, and how it looks. */
export interface Showing extends RenderOptions {
  readonly format: Format;
  readonly field: readonly Step[] | undefined;
  readonly quiet: boolean;
  readonly endless?: boolean;
}

type Selection = Omit<Showing, keyof RenderOptions>;

type Render = (bodyText: string, view: ResultView, options: RenderOptions) => Rendered | Promise<Rendered>;

const RENDERERS: Readonly<Record<Format, Render>> = {
  /** Returns exactly the response body of the API. */
  json: (bodyText) => ({ text: `${bodyText}\n` }),
  ndjson: (bodyText, view) => {
    const items = itemsOf(parseJson(bodyText), view);
    return { text: items.map((item) => `${stringifyJson(item)}\n`).join('') };
  },
  table: async (bodyText, view, options) =>
    (await import('./table.ts')).renderTable(parseJson(bodyText), view, options),
  csv: async (bodyText, view) => {
    const { renderCsv } = await import('./csv.ts');
    return { text: await renderCsv(itemsOf(parseJson(bodyText), view), view.columns, true) };
  },
};

/** Returns the selected output. Throws the fault `usage`, before a request is sent, if no result can satisfy it. */
export function chooseShowing(format: Format, field: string | undefined, quiet: boolean, view: ResultView): Selection {
  if (field !== undefined && quiet) throw new Fault('usage', 'only one of --field and --quiet can be given');
  const steps = field === undefined ? undefined : parsePath(field);
  if (steps !== undefined) checkField(isOfItems(view, steps) ? itemSchema(view) : view.schema, steps);
  return { format: isAnyJson(view) && (format === 'table' || format === 'csv') ? 'json' : format, field: steps, quiet };
}

/** Returns whether a result is arbitrary JSON. A table of it would omit most of its members. */
function isAnyJson({ schema }: ResultView): boolean {
  return schema !== undefined && schema.properties === undefined && schema.items === undefined;
}

export async function renderResult(bodyText: string, view: ResultView, showing: Showing): Promise<Rendered> {
  if (showing.field !== undefined) return renderField(bodyText, showing.field, view);
  const { nested } = view;
  if (nested !== undefined && !showing.quiet && (showing.format === 'table' || showing.format === 'csv')) {
    return renderNested(parseJson(bodyText), nested, view, showing);
  }
  const { text, note = view.list ? listNote(parseJson(bodyText), view) : undefined } = showing.quiet
    ? renderIds(bodyText, view)
    : await RENDERERS[showing.format](bodyText, view, showing);
  return { text, note };
}

/** Resolves to the items of the only list of a result. A remark has the other members. */
async function renderNested(body: Json, member: string, view: ResultView, showing: Showing): Promise<Rendered> {
  const schema = view.schema?.properties?.[member];
  const columns = view.areChosen ? view.columns : Object.keys(schema?.items?.properties ?? {});
  const items = stringifyJson(selectField(body, [member]) ?? []);
  const list = { schema, list: true, columns, rest: false, ...(view.areChosen && { areChosen: true }) };
  const { text } = await RENDERERS[showing.format](items, list, showing);
  const others = memberNames(asObject(body) ?? {}).filter((name) => name !== member);
  const texts = others.map((name) => [name, cellText(selectField(body, [name]))] as const);
  const note = texts.flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}`])).join(', ');
  return { text, note: note || undefined };
}

/** Returns whether a path selects a member of each item: the list has no pages and no such member itself. */
function isOfItems({ list, schema }: ResultView, steps: readonly Step[]): boolean {
  const isWhole = list && schema !== undefined && schema.properties?.['pagination'] === undefined;
  return isWhole && typeof steps[0] === 'string' && findUnknown(schema, steps.slice(0, 1)) !== undefined;
}

function renderField(bodyText: string, steps: readonly Step[], view: ResultView): Rendered {
  const body = parseJson(bodyText);
  if (isOfItems(view, steps)) {
    return {
      text: itemsOf(body, view)
        .map((item) => withLineEnd(rawText(selectField(item, steps))))
        .join(''),
    };
  }
  const value = selectField(body, steps);
  if (value === undefined) throw new Fault('usage', `--field: the result has no ${printPath(steps)}`);
  return { text: withLineEnd(rawText(value)) };
}

/** Returns a text with a line end. A text that has one, such as PEM, stays as it is. */
export function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** Returns a string unchanged, any other value as JSON, and nothing for an absent member. */
export function rawText(value: Json | undefined): string {
  return typeof value === 'string' || value === undefined ? (value ?? '') : stringifyJson(value);
}

function renderIds(bodyText: string, view: ResultView): Rendered {
  const body = parseJson(bodyText);
  const items = view.holdsTokens ? tokensIn(body) : itemsOf(body, view);
  const ids = items.map((item) => selectField(item, idPathOf(view)));
  return { text: ids.map((id) => (id === undefined ? '' : `${cellText(id)}\n`)).join('') };
}
