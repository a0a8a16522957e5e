/**
 * The kinds of syntax errors. `syntax`: the text is not JSON. `depth`: the nesting exceeds the limit. `duplicate`: an
 * object repeats a member name.
 */
export type JsonSyntaxErrorKind = 'syntax' | 'depth' | 'duplicate';

/** The error for a text that is not acceptable JSON. It quotes no value of the text, so the caller may see it. */
export class JsonSyntaxError extends Error {
  readonly kind: JsonSyntaxErrorKind;
  /** A fixed text; only the text of `depth` contains a number, the limit. */
  readonly reason: string;
  /** The offset of the error in UTF-16 code units, from 0. */
  readonly position: number;
  /** The dotted path of member names and array positions to the error, such as `data.0.number`; empty at the top. */
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
