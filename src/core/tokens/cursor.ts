import { invalid } from '../problem.ts';
import type { ScanPosition } from '../scan-ports.ts';
import { mayBeId } from './token-id.ts';

/** The content of a cursor: `created_at` in milliseconds in base 36, a dot, and the id. */
const CURSOR = /^([0-9a-z]{1,10})\.(.*)$/s;

/** Returns the cursor of the page after a token, opaque to clients. `readCursor` returns the token's position. */
export function cursorOf({ created_at, id }: ScanPosition): string {
  return Buffer.from(`${created_at.toString(36)}.${id}`).toString('base64url');
}

/** Returns the position in a cursor. Throws `invalid_request` for a text that is not a cursor. */
export function readCursor(start: string): ScanPosition {
  const [, created = '', id = ''] = CURSOR.exec(Buffer.from(start, 'base64url').toString()) ?? [];
  if (created === '' || !mayBeId(id)) throw invalid('start', 'must be the `next` of an earlier page');
  return { created_at: Number.parseInt(created, 36), id };
}
