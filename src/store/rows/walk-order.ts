import type { ListOrder } from '../../contract/page.ts';
import { type Fragment, raw, sql } from './fragment.ts';

/** The directions of the columns of a walk. `oldest` is the exact reverse, so that it reads the same indexes. */
const DIRECTIONS = {
  newest: { created: raw('DESC'), id: raw('ASC'), beyond: raw('<'), next: raw('>') },
  oldest: { created: raw('ASC'), id: raw('DESC'), beyond: raw('>'), next: raw('<') },
} as const;

export type WalkOrder = (typeof DIRECTIONS)[ListOrder];

export const walkOrder = (order: ListOrder = 'newest'): WalkOrder => DIRECTIONS[order];

interface Position {
  readonly created_at: number | Fragment;
  readonly id: string;
}

/** Returns the condition for the tokens that follow a position. `created` is the column with the time of creation. */
export function isBehind({ beyond, next }: WalkOrder, created: Fragment, after: Position | undefined): Fragment {
  if (after === undefined) return raw('TRUE');
  const { created_at: time, id } = after;
  return sql`${created} ${beyond}= ${time} AND (${created} ${beyond} ${time} OR t.id ${next} ${id})`;
}
