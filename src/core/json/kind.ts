import type { Json, JsonArray, JsonObject } from '../../contract/json.ts';

/**
 * A JSON number in its written form (RFC 8259 §6), for numbers that a double would change: `1.10`, `-0`,
 * `9007199254740993`.
 */
export class JsonNumber {
  readonly lexeme: string;

  constructor(lexeme: string) {
    this.lexeme = lexeme;
  }
}

export function isJsonArray(value: Json | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** Returns whether a value is a JSON object. A `JsonNumber` is not one. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}
