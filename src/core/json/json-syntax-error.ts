/** `syntax`: not JSON. `depth`: nested deeper than allowed. `duplicate`: a member name repeats in an object. */
export type JsonSyntaxErrorKind = 'syntax' | 'depth' | 'duplicate';

/** Why a text was rejected. It quotes no value of the text, so the caller may see it. */
export class JsonSyntaxError extends Error {
  readonly kind: JsonSyntaxErrorKind;
  /** A fixed text; that of `depth` contains the limit. */
  readonly reason: string;
  /** Offset in UTF-16 code units, from 0. */
  readonly position: number;
  /** Member names and array positions that lead to the error: `data.0.number`; empty at the top. */
  readonly path: string;

  constructor(kind: JsonSyntaxErrorKind, reason: string, position: number, path: string) {
    super(`${reason} (character ${position})`);
    this.name = 'JsonSyntaxError';
    this.kind = kind;
    this.reason = reason;
    this.position = position;
    this.path = path;
  }
}
