import type { OperationId } from '../contract/operations.ts';

/** What one keyword of a schema refused. There is no message: it would have to quote the value. */
export interface ValidationError {
  /** JSON pointer (RFC 6901) of the member. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly schemaPath: string;
  /** Set on what `propertyNames` refused. */
  readonly propertyName?: string;
}

/** A compiled schema. `errors` is of the last call, at most 100 of them: read it before the next call. */
export type Validator = ((value: unknown) => boolean) & { errors?: null | readonly ValidationError[] };

/** Of what is in a path and behind it. */
export declare const VALIDATORS: Readonly<
  Record<OperationId, { readonly params?: Validator; readonly query?: Validator }>
>;
