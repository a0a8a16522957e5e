/** `syntax`: not JSON. `depth`: nested deeper than allowed. `duplicate`: one object has a member name twice. */
export type JsonSyntaxErrorKind = 'syntax' | 'depth' | 'duplicate';

/** Why a text was refused. Nothing in it quotes a value of the text, so all of it may be shown to the caller. */
export class JsonSyntaxError extends Error {
  readonly kind: JsonSyntaxErrorKind;
  /** Fixed, but for the limit in that of `depth`. */
  readonly reason: string;
  /** Offset in UTF-16 code units, from 0. */
  readonly position: number;
  /** Member names and array positions down to the place: `data.0.number`; empty at the top. */
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
