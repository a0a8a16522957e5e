/**
 * A JSON value as this project carries it. It keeps what `JSON.parse` loses. Objects inherit nothing, so `__proto__`
 * and `constructor` are plain members.
 */
export type Json = null | boolean | number | string | JsonNumber | JsonArray | JsonObject;

export type JsonArray = readonly Json[];

export interface JsonObject {
  readonly [name: string]: Json;
}

/** A number whose text changes when it is read as a double: `1.10`, `1e2`, `9007199254740993`. */
export interface JsonNumber {
  readonly lexeme: string;
}
