import { invalid } from '../problem.ts';

/**
 * The position of a log entry: the row, the event in the row, and the entity in the event, from 1. `entity` is 0 for an
 * event with a single entity.
 */
export type LogPosition = readonly [sequence: number, n: number, entity: number];

/** Returns the position of an id: `<sequence>.<n>[.<entity>]`. */
export function parseLogId(id: string): LogPosition {
  const [sequence = 0, n = 0, entity = 0] = id.split('.').map(Number);
  return [sequence, n, entity];
}

/** Compares two positions. Returns a negative number when `a` is older. */
export function comparePositions(a: LogPosition, b: LogPosition): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** Returns the cursor of a page that starts with the entries older than a position. */
export function logCursor(position: LogPosition): string {
  return Buffer.from(position.join('.')).toString('base64url');
}

/** Returns the position in a cursor. Throws `invalid_request` for a cursor that the list did not return. */
export function parseLogCursor(cursor: string): LogPosition {
  const id = Buffer.from(cursor, 'base64url').toString('latin1');
  if (!/^\d{1,15}(\.\d{1,9}){2}$/.test(id)) throw invalid('start', 'is not a cursor of this list');
  return parseLogId(id);
}
