import type { Json, JsonArray, JsonObject } from '../../contract/json.ts';
import { JsonNumber } from './json-number.ts';

export function isJsonArray(value: Json | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** An object of the JSON text; a `JsonNumber` is none. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}
