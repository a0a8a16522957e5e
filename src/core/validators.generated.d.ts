import type { OperationId } from '../contract/operations.ts';

/** One error of a compiled schema. It has no message, because a message would have to quote the value. */
export interface ValidationError {
  /** JSON pointer (RFC 6901) of the member. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly schemaPath: string;
  /** Set for errors of `propertyNames`: the name of the rejected property. */
  readonly propertyName?: string;
}

/** A compiled schema. `errors` holds at most 100 errors of the last call; read it before the next call. */
export type Validator = ((value: unknown) => boolean) & { errors?: null | readonly ValidationError[] };

/** The validators of each operation's path parameters and query. */
export declare const VALIDATORS: Readonly<
  Record<OperationId, { readonly params?: Validator; readonly query?: Validator }>
>;
