import type { Instant } from '../ports.ts';
import { invalid } from '../problem.ts';
import { ROOT_CHAIN } from './audit-link.ts';

/**
 * The place of a log entry: the row, the event in the row, and the entity in the event, from 1. `entity` is 0 for an
 * event with a single entity.
 */
type PlaceInChain = readonly [sequence: number, n: number, entity: number];

export interface LogPlace {
  readonly chain: string;
  readonly place: PlaceInChain;
  /**
   * The time that the merge of several chains has reached: the earliest time of the rows up to this place. Default: the
   * time of the row.
   */
  readonly reached?: Instant | undefined;
}

/** Returns the place of an id: `<sequence>.<n>[.<entity>]`, after `<chain>:` unless the chain is the root. */
export function parseLogId(id: string): LogPlace {
  const [own = '', chain = ROOT_CHAIN, reached] = id.split(':').toReversed();
  const [sequence = 0, n = 0, entity = 0] = own.split('.').map(Number);
  return { chain, place: [sequence, n, entity], ...(reached !== undefined && { reached: Number(reached) }) };
}

/** Compares two places of one chain. Returns a negative number when `a` is older. */
export function comparePlaces({ place: a }: LogPlace, { place: b }: LogPlace): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** Returns the cursor of a page that starts with the entries older than a place. */
export function logCursor({ chain, place, reached }: LogPlace): string {
  const own = place.join('.');
  return Buffer.from(reached === undefined ? own : `${reached}:${chain}:${own}`).toString('base64url');
}

/** Returns the place in a cursor. Throws `invalid_request` for a cursor that the list did not return. */
export function parseLogCursor(cursor: string): LogPlace {
  const id = Buffer.from(cursor, 'base64url').toString('latin1');
  if (!/^(\d{1,15}:\d{1,15}:)?\d{1,15}(\.\d{1,9}){2}$/.test(id)) throw invalid('start', 'is not a cursor of this list');
  return parseLogId(id);
}
