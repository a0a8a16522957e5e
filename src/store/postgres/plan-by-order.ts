import type { Statement } from './sql-client.ts';

/**
 * Makes PostgreSQL read indexes in their order, until the end of the transaction. For statements that read a part of a
 * large table: the statistics may be older than a tenant, and PostgreSQL would then read all its rows and sort them. With
 * `jit`, it would compile each statement that must sort, since it then thinks that sorting is expensive.
 */
export const PLAN_BY_ORDER: Statement = {
  text: `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`,
};
