/**
 * A JSON value without the losses of `JSON.parse`: numbers may keep their text. Objects inherit nothing, so `__proto__`
 * and `constructor` are plain members.
 */
export type Json = null | boolean | number | string | JsonNumber | JsonArray | JsonObject;

export type JsonArray = readonly Json[];

export interface JsonObject {
  readonly [name: string]: Json;
}

/** A number whose text would change if it were read as a double: `1.10`, `1e2`, `9007199254740993`. */
export interface JsonNumber {
  readonly lexeme: string;
}
