import type { Json, JsonObject } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { isJsonArray, isJsonObject } from '../../core/json/kind.ts';
import { memberNames } from '../../core/json/member-names.ts';
import { stringifyJson } from '../../core/json/stringify.ts';

/** How deep the members of one thing get rows of their own. */
const ROW_DEPTH = 3;

/** A value in a cell of a list, in short: `number: XXXX4242, cvc: 123`; of objects in a list only the values. */
export function briefText(value: Json | undefined, schema: Schema | undefined): string {
  if (typeof value === 'string' && schema?.format === 'date-time') return localTime(value, 'minutes');
  if (isJsonArray(value)) {
    const texts = value.map((item) => (isJsonObject(item) ? valuesOf(item) : inline(item)));
    return fewOf(texts, value.some(isJsonObject) ? '; ' : ', ');
  }
  return inline(value, false);
}

/** A list in a cell is no longer than this; the entry of a list that was read names a hundred ids. */
const LIST_WIDTH = 100;

/** As many of the texts as there is room for, at least one, and how many more there are. */
function fewOf(texts: readonly string[], separator: string): string {
  const all = texts.join(separator);
  if (all.length <= LIST_WIDTH || texts.length === 1) return all;
  const headOf = (count: number) => texts.slice(0, count).join(separator);
  let shown = 1;
  while (headOf(shown + 1).length <= LIST_WIDTH) shown += 1;
  return `${headOf(shown)}${separator}… and ${texts.length - shown} more`;
}

/** The rows of one thing: the path of each value, as `--field` takes it, and the value in words. */
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

/** The schema of a member of what `schema` describes. */
export function memberSchema(schema: Schema | undefined, name: string): Schema | undefined {
  const properties = schema?.properties;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** A time of the API in the zone of this machine; text that is no time stays as it is. */
function localTime(text: string, precision: 'minutes' | 'seconds'): string {
  const time = new Date(text);
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

/** A description is for reading one thing, not for a list. */
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
  // A rule without a description is the usual case.
  const telling = names.filter((name) => name !== 'description' || value[name] !== '');
  const members = (telling.length === 0 ? names : telling)
    .map((name) => `${name}: ${value[name] === '' ? '""' : inline(value[name])}`)
    .join(', ');
  return bracketed || members === '' ? `{${members}}` : members;
}
