import { JsonSyntaxError, type JsonSyntaxErrorKind } from './json-syntax-error.ts';

/** Where the parser stands. `path[i]` names what is being read `i` levels down. */
export interface Cursor {
  readonly text: string;
  readonly maxDepth: number;
  readonly path: (string | number)[];
  at: number;
  depth: number;
}

/** The error for the place that the cursor stands at. `reason` is a fixed text. */
export function refuse(cursor: Cursor, kind: JsonSyntaxErrorKind, reason: string): JsonSyntaxError {
  const ended = kind === 'syntax' && cursor.at >= cursor.text.length;
  const path = cursor.path.slice(0, cursor.depth).join('.');
  return new JsonSyntaxError(kind, ended ? 'the text ends too early' : reason, cursor.at, path);
}
