import type { Json, JsonObject } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { isJsonObject } from '../../core/json/kind.ts';
import { parseJson } from '../../core/json/parse.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { parseChoice } from '../flags/quantities.ts';
import { groupDigits } from './progress-line.ts';
import { parsePath, type Step, selectField } from './select-field.ts';

/** The description of a result that every output format but `json` uses. */
export interface ResultView {
  readonly schema: Schema | undefined;
  /** Whether the result is a list, `{ data: [items] }` or `[items]`. Columns are then members of an item. */
  readonly list: boolean;
  /** Paths of the members that a table shows, in order. */
  readonly columns: readonly string[];
  /** Whether `--columns` names the columns: a table then shows each of them, even if it is empty. */
  readonly areChosen?: boolean | undefined;
  /** Whether the table of a single result lists its other members below the columns. */
  readonly rest: boolean;
  /** The path of the identifying member, which `--quiet` prints. Default: `id`. */
  readonly idMember?: string | undefined;
  /** The member whose items a table and a CSV print: the only list of a single result. */
  readonly nested?: string | undefined;
  /** Whether the result is a document with tokens at any depth, whose ids `--quiet` prints. */
  readonly holdsTokens?: boolean | undefined;
  /** Whether a table shows times with seconds and their zone. */
  readonly exactTimes?: boolean | undefined;
  /** The remark on an empty list. */
  readonly emptyNote?: string | undefined;
}

/** A rendered result: text for stdout, and a remark for stderr. */
export interface Rendered {
  readonly text: string;
  readonly note?: string | undefined;
}

export interface RenderOptions {
  readonly colour: boolean;
  /** The number of columns of the terminal; absent without a terminal. */
  readonly width?: number | undefined;
}

/** Returns the items of a list, or an array of the result itself if it is not a list. */
export function itemsOf(body: Json, { list }: Pick<ResultView, 'list'>): readonly Json[] {
  if (!list) return [body];
  const items = Array.isArray(body) ? body : selectField(body, ['data']);
  return Array.isArray(items) ? items : [];
}

/** Returns the schema of the items of a list, or of the result itself if it is not a list. */
export function itemSchema({ list, nested, schema }: ResultView): Schema | undefined {
  if (nested !== undefined) return schema?.properties?.[nested]?.items;
  return list ? (schema?.items ?? schema?.properties?.['data']?.items) : schema;
}

/** Returns the tokens of a document, in order. Everything else in it is an array, or an object without texts. */
export function tokensIn(body: Json): readonly Json[] {
  if (typeof selectField(body, ['id']) === 'string') return [body];
  return Array.isArray(body) || isJsonObject(body) ? Object.values(body).flatMap(tokensIn) : [];
}

/** Returns a note that a first page is not the whole list, or that the list is empty; undefined for any other body. */
export function listNote(body: Json, { emptyNote }: ResultView): string | undefined {
  const isEmpty = itemsOf(body, { list: true }).length === 0;
  if (isEmpty && selectField(body, ['pagination', 'next']) === undefined && emptyNote !== undefined) return emptyNote;
  return firstPageNote(body);
}

/** Returns a note that a first page is not the whole list; undefined for any other body. */
export function firstPageNote(body: Json): string | undefined {
  const shown = itemsOf(body, { list: true }).length;
  const total = Number(selectField(body, ['pagination', 'total_items']) ?? 0);
  const isFirst = selectField(body, ['pagination', 'page_number']) === 1;
  const all = `${selectField(body, ['pagination', 'total_items_capped']) === true ? 'more than ' : ''}${groupDigits(total)}`;
  return isFirst && shown < total ? `${groupDigits(shown)} of ${all}; --all for the rest` : undefined;
}

/** The paths of a new API key in results. */
export const KEY_PATHS: ReadonlySet<string | undefined> = new Set(['key', 'application.key']);

/** Returns the path of the member that identifies a result. */
export function idPathOf({ idMember = 'id' }: ResultView): readonly Step[] {
  return parsePath(idMember);
}

/** Returns the value of a column for an item. */
export function cellValue(item: Json, column: string): Json | undefined {
  return selectField(item, parsePath(column));
}

/** Returns a value as text: a string unchanged, an array of strings with commas, anything else as JSON. */
export function cellText(value: Json | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ');
  return stringifyJson(value);
}

/** Returns the members of a JSON object; undefined for any other value. */
export function asObject(value: Json): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** Returns the members of a JSON text; none for other JSON. Throws for other text. */
export function objectOf(text = '{}'): JsonObject {
  return asObject(parseJson(text)) ?? {};
}

export const FORMATS = ['table', 'json', 'csv', 'ndjson'] as const;

export type Format = (typeof FORMATS)[number];

/** Returns the requested format. Default: `table` on a terminal, else `json`. Throws `usage` for an unknown one. */
export function chooseFormat(asked: string | undefined, isTerminal: boolean): Format {
  if (asked === undefined) return isTerminal ? 'table' : 'json';
  return parseChoice('--output (VAULT_OUTPUT)', asked, FORMATS);
}
