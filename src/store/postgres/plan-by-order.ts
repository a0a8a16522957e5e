import type { Statement } from './sql-client.ts';

/**
 * Makes PostgreSQL read indexes in their order, until the end of the transaction. Use it for statements that read a
 * part of a large table. The statistics may be older than the rows of a tenant: PostgreSQL would then read and sort all
 * of them. It would also overestimate the cost of a sort, and compile the statement for it (`jit`).
 */
export const PLAN_BY_ORDER: Statement = {
  text: `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`,
};
