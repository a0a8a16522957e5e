import type { Json } from '../../contract/json.ts';
import type { Arguments, Filter } from './filter.ts';

/** `data.a[0]`, or a literal. */
export type Operand = { readonly kind: 'literal'; readonly value: Json } | PathOperand;

export interface PathOperand {
  readonly kind: 'path';
  readonly root: 'data' | 'metadata';
  readonly keys: readonly (string | number)[];
  readonly position: number;
}

/** An argument whose value is known only when the expression is evaluated. */
export interface OpenArgument {
  readonly parameter: string;
  readonly operand: PathOperand;
}

export interface FilterCall {
  readonly name: string;
  readonly filter: Filter;
  /** The literal arguments and the defaults, read and checked. */
  readonly args: Arguments;
  readonly open: readonly OpenArgument[];
  readonly position: number;
}

/** One `{{ … }}`. */
export interface Output {
  readonly operand: Operand;
  readonly calls: readonly FilterCall[];
  readonly position: number;
}

/** A parsed expression: texts and outputs as they follow each other. Exactly one output and nothing else keeps its type. */
export type Template = readonly (string | Output)[];

/** What expressions may refer to (decisions §4): `metadata` in `fingerprint_expression` only, left out elsewhere. */
export interface Scope {
  readonly data: Json;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}
