import { ROOT_CHAIN } from '../../core/audit/audit-link.ts';
import type { AuditHead, ChainRecorder } from '../../core/audit/ports.ts';
import { runningTime } from '../../core/running-time.ts';
import { clearInterval, setInterval } from '../../core/timers.ts';
import { LOSSES, type Loss } from '../rows/channels.ts';
import { storedNumber } from '../rows/stored-value.ts';
import { headsWhere, toHead } from './audit-chain.ts';
import type { Change, LaneMember, Transaction } from './connections.ts';
import { findSettled, runChange } from './lane-transaction.ts';
import { firstValue, NOW, type SqlClient, type Statement } from './sql-client.ts';
import { counted } from './token-statements.ts';

/** The number of transactions that a process writes to the root chain before it opens its own. */
export const WRITES_ON_ROOT = 8;

/** The time between two heartbeats, and the silence after which a chain counts as abandoned, in milliseconds. */
const HEARTBEAT_MS = 10_000;
const SILENCE_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;

const BEAT: Statement = { name: 'heartbeat', text: `UPDATE vault.chain SET heartbeat_at = ${NOW} WHERE chain = $1` };

/** Selects the last sequence of a chain, up to $2, and whether a prune has removed the whole chain. */
const LAST = `SELECT coalesce(max(sequence), 0), count(*) = 0
      AND EXISTS (SELECT 1 FROM vault.chain WHERE chain = $1 AND recorded_at IS NOT NULL)
    FROM vault.audit WHERE chain = $1 AND sequence <= $2`;

const NEXT = 'SELECT max(chain) + 1 FROM vault.chain';
const OPEN = `INSERT INTO vault.chain VALUES ($1, ${NOW}, ${NOW}, NULL, NULL, 0)`;
const GENESIS = "INSERT INTO vault.audit VALUES ($1, 0, $2, $3, '')";

const openChains = (condition: string) =>
  `SELECT chain FROM vault.chain WHERE chain > 0 AND closed_at IS NULL AND ${condition}`;
/** The chains of earlier days, in UTC. */
const OLD = openChains(`opened_at < ${NOW} / ${DAY_MS} * ${DAY_MS}`);
/** Returns a statement that closes chains. Skips a chain whose process is writing. */
const closing = (chains: string) =>
  `UPDATE vault.chain SET closed_at = ${NOW} WHERE chain IN (${chains} FOR UPDATE SKIP LOCKED)`;
const CLOSE_SILENT = closing(openChains(`heartbeat_at < ${NOW} - ${SILENCE_MS}`));
const CLOSE_OLD = closing(OLD);
const FIND_OLD = `${OLD} LIMIT 1`;
const UNRECORDED = headsWhere('c.closed_at IS NOT NULL AND c.recorded_at IS NULL');
const RECORD = `UPDATE vault.chain SET recorded_at = ${NOW} WHERE chain = $1`;
/** Adds the counters of a closed chain to those of the root. */
const FOLD_COUNTS = `WITH folded AS (DELETE FROM vault.token_count WHERE chain = $1 RETURNING *),
    ${counted('SELECT tenant, type, month, key_id, index_key_id, 0, live, active, last_created_at FROM folded')} SELECT`;

export const HEARTBEAT: LaneMember<void> = {
  written: undefined,
  statements: (chain) => [[BEAT, [chain]]],
  read: () => ({ hasChanged: false, result: undefined }),
};

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
 * about it. First closes the chains of earlier days, so that each day the root has a place that no chain spans: a prune
 * ends at such a place. Resolves to undefined while one of these chains is in use.
 */
async function openChain(transaction: Transaction, recorder: ChainRecorder): Promise<AuditHead | undefined> {
  const { run, append } = transaction;
  await run(CLOSE_OLD);
  await recordClosed(transaction, recorder);
  if ((await run(FIND_OLD)).length > 0) return undefined;
  const chain = String(storedNumber(firstValue(await run(NEXT))));
  const draft = recorder.opened(chain);
  const { link } = await append(draft);
  await Promise.all([run(OPEN, [chain]), run(GENESIS, [chain, draft.at, link])]);
  return { chain, sequence: 0, link };
}

/** Returns the chain of a process, which is not open at first. Calls `keepAlive` with 1, 2, 3, … while it is open. */
export function ownChain(writesOnRoot: number, keepAlive: (beat: number) => void) {
  let recorder: ChainRecorder | undefined;
  let open: { head: AuditHead; noted: number; readonly since: number } | undefined;
  let writes = 0;
  let beats = 0;
  let timer: NodeJS.Timeout | undefined;

  function leave(): AuditHead | undefined {
    clearInterval(timer);
    const head = open?.head;
    open = undefined;
    return head;
  }

  async function closeOpen(client: SqlClient): Promise<void> {
    const head = leave();
    if (head !== undefined) await findSettled(client, head.chain, []);
  }

  async function onRoot<T>(client: SqlClient, change: Change<T>): Promise<T | undefined> {
    const [outcome] = (await runChange(client, ROOT_CHAIN, change)).outcomes;
    if (outcome !== undefined && 'error' in outcome) throw outcome.error;
    return outcome?.result as T | undefined;
  }

  /** Closes and records the chains of processes that have ended without closing them. */
  async function sweep(transaction: Transaction): Promise<void> {
    if (recorder === undefined) return;
    await transaction.run(CLOSE_SILENT);
    await recordClosed(transaction, recorder);
  }

  return {
    /** Allows the process to open a chain. */
    useRecorder(used: ChainRecorder) {
      recorder = used;
    },
    /** Returns the last committed entry. Undefined while no chain is open. */
    head: () => open?.head,

    /**
     * Resolves to the place after which the next transaction writes; undefined means the root chain. Opens the chain
     * when the process has written often enough, and replaces it after a day. Rejects with the errors of `runChange`.
     */
    async forWrite(client: SqlClient): Promise<AuditHead | undefined> {
      if (open !== undefined && runningTime() - open.since > DAY_MS) await closeOpen(client);
      if (open !== undefined) return open.head;
      writes += 1;
      if (recorder === undefined || writes <= writesOnRoot) return undefined;
      const drafts = recorder;
      const head = await onRoot(client, (transaction) => openChain(transaction, drafts));
      if (head === undefined) return undefined;
      open = { head, noted: 0, since: runningTime() };
      timer = setInterval(() => keepAlive(++beats), HEARTBEAT_MS).unref();
      return head;
    },

    /** Sets the last committed entry. */
    advance(head: AuditHead) {
      if (open !== undefined) open.head = head;
    },
    /** Leaves the chain. It was closed, or another process will close it. */
    forget: () => void leave(),

    /** Closes and leaves a chain that ends at another place than expected. Publishes the number of missing rows. */
    async abandon(client: SqlClient) {
      if (open === undefined) return;
      const { chain, sequence, link } = open.head;
      const found = await findSettled(client, chain, [{ sequence, link }]);
      const [[last, isPruned] = []] = await client.run(LAST, [chain, sequence]);
      leave();
      if (found.size > 0 || isPruned === true) return;
      // After a failover, another process may have opened a chain of the same number.
      const missing = Math.max(1, sequence - storedNumber(last));
      LOSSES.publish({ chain, missing } satisfies Loss);
    },

    /** Records the last committed entry in the root chain. */
    async note({ append }: Transaction) {
      if (open === undefined || recorder === undefined || open.head.sequence === open.noted) return;
      await append(recorder.noted([open.head]));
      open.noted = open.head.sequence;
    },

    sweep,

    /** Closes and records the chain. */
    async close(client: SqlClient) {
      await closeOpen(client);
      await onRoot(client, sweep);
    },
  };
}
