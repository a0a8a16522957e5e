import type { Json, JsonObject } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { isJsonArray, isJsonObject, memberNames } from '../../core/json/kind.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { MachineDate } from '../../core/timers.ts';

/** The depth down to which nested members get rows of their own. */
const ROW_DEPTH = 3;

/** The precision of a time; with seconds, it has its zone, too. */
type Precision = 'minutes' | 'seconds';

/**
 * Returns a value as text for a table cell: `XXXX4242 12/2030` for a card, `type: a, count: 1` for another object. Omits
 * the names for objects in an array.
 */
export function briefText(
  value: Json | undefined,
  schema: Schema | undefined,
  precision: Precision = 'minutes',
): string {
  if (typeof value === 'string' && schema?.format === 'date-time') return localTime(value, precision);
  if (isJsonArray(value)) {
    const texts = value.map((item) => (isJsonObject(item) ? valuesOf(item) : inline(item)));
    return fewOf(texts, value.some(isJsonObject) ? '; ' : ', ');
  }
  if (!isCard(value)) return inline(value, false);
  const { number = '', expiration_month: month, expiration_year: year } = value;
  const others = memberNames(value).filter((name) => !CARD.has(name) && value[name] !== null);
  const text = `${inline(number)} ${inline(month).padStart(2, '0')}/${inline(year)}`;
  return [text, ...others.map((name) => `${name}: ${inline(value[name])}`)].join(', ');
}

const CARD: ReadonlySet<string> = new Set(['number', 'expiration_month', 'expiration_year']);

/** Returns whether a value is a card: an object with a number and an expiry. */
export function isCard(value: Json | undefined): value is JsonObject {
  if (value === undefined || !isJsonObject(value) || typeof value['number'] !== 'string') return false;
  return [...CARD].every((name) => value[name] !== undefined && value[name] !== null);
}

/** The maximum length of an array in a cell. The audit entry of a list call names a hundred ids. */
const LIST_WIDTH = 100;

/** Returns as many of the texts as fit into a cell, at least one, and the number of the others. */
function fewOf(texts: readonly string[], separator: string): string {
  const all = texts.join(separator);
  if (all.length <= LIST_WIDTH || texts.length === 1) return all;
  const headOf = (count: number) => texts.slice(0, count).join(separator);
  let shown = 1;
  while (headOf(shown + 1).length <= LIST_WIDTH) shown += 1;
  return `${headOf(shown)}${separator}… and ${texts.length - shown} more`;
}

/** Returns the rows of a single result: the path of each value, as `--field` takes it, and the formatted value. */
export function detailRows(
  path: string,
  value: Json,
  schema: Schema | undefined,
  depth = 0,
): readonly (readonly [path: string, text: string])[] {
  if (isJsonObject(value) && depth < ROW_DEPTH && memberNames(value).length > 0) {
    return memberNames(value).flatMap((name) =>
      detailRows(joinPath(path, name), value[name] ?? null, memberSchema(schema, name), depth + 1),
    );
  }
  if (isJsonArray(value) && value.some(isJsonObject)) {
    return value.map((item, at) => [`${path}[${at}]`, inline(item, false)]);
  }
  if (typeof value === 'string' && schema?.format === 'date-time') return [[path, localTime(value, 'seconds')]];
  if (isJsonArray(value)) return [[path, value.map((one) => inline(one)).join(', ') || '[]']];
  return [[path, inline(value, false)]];
}

/** Returns the schema of a member. */
export function memberSchema(schema: Schema | undefined, name: string): Schema | undefined {
  const properties = schema?.properties;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** Formats a time of the API in this machine's zone; other text stays unchanged. */
function localTime(text: string, precision: Precision): string {
  const time = new MachineDate(text);
  if (Number.isNaN(time.getTime())) return text;
  const two = (part: number) => String(Math.trunc(part)).padStart(2, '0');
  const date = `${String(time.getFullYear()).padStart(4, '0')}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const minutes = `${date} ${two(time.getHours())}:${two(time.getMinutes())}`;
  if (precision === 'minutes') return minutes;
  const offset = -time.getTimezoneOffset();
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
  return `${minutes}:${two(time.getSeconds())} ${zone}`;
}

function joinPath(path: string, name: string): string {
  return /^[^.[\]"\s]+$/.test(name) ? `${path}.${name}` : `${path}["${name}"]`;
}

/** Returns the values of an object for a list. Omits the description, which only a single record shows. */
function valuesOf(object: JsonObject): string {
  const names = memberNames(object).filter((name) => name !== 'description');
  return names.map((name) => nestedValues(object[name] ?? null)).join(' ');
}

function nestedValues(value: Json): string {
  if (isJsonArray(value)) return value.map((item) => (isJsonObject(item) ? valuesOf(item) : inline(item))).join(',');
  return isJsonObject(value) ? valuesOf(value) : inline(value);
}

function inline(value: Json | undefined, bracketed = true): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  if (isJsonArray(value)) return `[${value.map((item) => inline(item)).join(', ')}]`;
  if (!isJsonObject(value)) return stringifyJson(value);
  const names = memberNames(value);
  // Omit an empty description, because most rules have none.
  const informative = names.filter((name) => name !== 'description' || value[name] !== '');
  const members = (informative.length === 0 ? names : informative)
    .map((name) => `${name}: ${value[name] === '' ? '""' : inline(value[name])}`)
    .join(', ');
  return bracketed || members === '' ? `{${members}}` : members;
}
