import type { AuditHead, ChainRecorder } from '../../core/audit/ports.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import { NOW } from './audit-chain.ts';
import type { Transaction } from './connections.ts';
import type { Row, Statement } from './sql-client.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The silence after which the chain of a process counts as abandoned, in milliseconds. */
const SILENCE_MS = 60_000;

const NEXT: Statement = { text: 'SELECT max(chain) + 1 FROM vault.chain' };
const OPEN: Statement = { text: `INSERT INTO vault.chain VALUES ($1, ${NOW}, ${NOW}, NULL, NULL, 0)` };
const GENESIS: Statement = { text: "INSERT INTO vault.audit VALUES ($1, 0, $2, $3, '')" };

/** Returns the selection of the open chains that a condition names. */
const openChains = (condition: string) =>
  `SELECT chain FROM vault.chain WHERE chain > 0 AND closed_at IS NULL AND ${condition}`;
const SILENT = openChains(`heartbeat_at < ${NOW} - ${SILENCE_MS}`);
/** The chains of earlier days, in UTC. */
const OLD = openChains(`opened_at < ${NOW} / ${DAY_MS} * ${DAY_MS}`);
/** Returns a statement that closes chains. Skips a chain whose process is writing. */
const closing = (chains: string): Statement => ({
  text: `UPDATE vault.chain SET closed_at = ${NOW} WHERE chain IN (${chains} FOR UPDATE SKIP LOCKED)`,
});
const CLOSE_SILENT = closing(SILENT);
const CLOSE_OLD = closing(OLD);
const FIND_OLD: Statement = { text: `${OLD} LIMIT 1` };
const UNRECORDED: Statement = {
  text: `SELECT c.chain, h.sequence, h.link FROM vault.chain c,
      LATERAL (SELECT sequence, link FROM vault.audit WHERE chain = c.chain ORDER BY sequence DESC LIMIT 1) h
    WHERE c.closed_at IS NOT NULL AND c.recorded_at IS NULL ORDER BY c.chain`,
};
const RECORD: Statement = { text: `UPDATE vault.chain SET recorded_at = ${NOW} WHERE chain = $1` };
/** Adds the counters of a closed chain to those of the root. */
const FOLD_COUNTS: Statement = {
  text: `WITH folded AS (DELETE FROM vault.token_count WHERE chain = $1 RETURNING *)
    INSERT INTO vault.token_count AS c SELECT tenant, type, month, key_id, index_key_id, 0, live, active, last_created_at
    FROM folded
    ON CONFLICT (tenant, type, month, key_id, index_key_id, chain) DO UPDATE SET live = c.live + excluded.live,
      active = c.active + excluded.active, last_created_at = greatest(c.last_created_at, excluded.last_created_at)`,
};

function toHead([chain, sequence, link]: Row): AuditHead {
  return { chain: String(storedNumber(chain)), sequence: storedNumber(sequence), link: storedBytes(link) };
}

/** Records the ends of closed chains in the root chain, and adds their counters to those of the root. */
async function recordClosed({ run, append }: Transaction, recorder: ChainRecorder): Promise<void> {
  for (const row of await run(UNRECORDED)) {
    const head = toHead(row);
    await append(recorder.closed(head));
    await Promise.all([run(RECORD, [head.chain]), run(FOLD_COUNTS, [head.chain])]);
  }
}

/**
 * Opens a chain, in a transaction of the root chain. Resolves to its row 0, whose link is that of the root's entry
 * about it. Before, closes the chains of earlier days, so that each day the root has a place that no chain spans: a
 * prune ends at such a place. Resolves to undefined while one of these chains is in use.
 */
export async function openChain(transaction: Transaction, recorder: ChainRecorder): Promise<AuditHead | undefined> {
  const { run, append } = transaction;
  await run(CLOSE_OLD);
  await recordClosed(transaction, recorder);
  if ((await run(FIND_OLD)).length > 0) return undefined;
  const chain = String(storedNumber((await run(NEXT))[0]?.[0]));
  const draft = recorder.opened(chain);
  const { link } = await append(draft);
  await Promise.all([run(OPEN, [chain]), run(GENESIS, [chain, draft.at, link])]);
  return { chain, sequence: 0, link };
}

/** Closes and records the chains of processes that have ended without closing them. */
export async function sweepChains(transaction: Transaction, recorder: ChainRecorder): Promise<void> {
  await transaction.run(CLOSE_SILENT);
  await recordClosed(transaction, recorder);
}
