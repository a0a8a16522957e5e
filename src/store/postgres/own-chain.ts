import { ROOT_CHAIN } from '../../core/audit/audit-link.ts';
import type { AuditHead, ChainRecorder } from '../../core/audit/ports.ts';
import { LOSSES, type Loss } from '../rows/channels.ts';
import { storedNumber } from '../rows/stored-value.ts';
import { NOW } from './audit-chain.ts';
import { openChain, sweepChains } from './chains.ts';
import type { LaneMember, Transaction } from './connections.ts';
import { findSettled, runChange } from './lane-transaction.ts';
import type { SqlClient, Statement } from './sql-client.ts';

/** The number of transactions that a process writes to the root chain before it opens its own. */
export const WRITES_ON_ROOT = 8;

/** The time between two heartbeats, in milliseconds. Other processes wait for six of them. */
const HEARTBEAT_MS = 10_000;
/** The age at which a process replaces its chain, in milliseconds. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000;

const BEAT: Statement = { name: 'heartbeat', text: `UPDATE vault.chain SET heartbeat_at = ${NOW} WHERE chain = $1` };

/** Returns the last row of a chain, and whether a prune has removed the whole chain. */
const LAST: Statement = {
  text: `SELECT coalesce(max(sequence), 0), count(*) = 0
      AND EXISTS (SELECT 1 FROM vault.chain WHERE chain = $1 AND recorded_at IS NOT NULL)
    FROM vault.audit WHERE chain = $1 AND sequence <= $2`,
};

/** The heartbeat of a chain. */
export const HEARTBEAT: LaneMember<void> = {
  statements: (_, chain) => [[BEAT, [chain]]],
  read: () => ({ isHead: true, hasChanged: false, result: undefined }),
};

/** The chain of a process. */
export interface OwnChain {
  /** Allows the process to open a chain. */
  useRecorder(recorder: ChainRecorder): void;
  /** Returns the last committed entry. Undefined while no chain is open. */
  head(): AuditHead | undefined;
  /**
   * Resolves to the place after which the next transaction writes; undefined means the root chain. Opens the chain
   * when the process has written often enough. Rejects with the errors of `runChange`.
   */
  forWrite(client: SqlClient): Promise<AuditHead | undefined>;
  /** Sets the last committed entry. */
  advance(head: AuditHead): void;
  /** Leaves the chain. It was closed, or another process will close it. */
  forget(): void;
  /** Closes and leaves a chain that ends at another place than expected. Publishes the number of missing rows. */
  abandon(client: SqlClient): Promise<void>;
  /** Records the last committed entry in the root chain. */
  note(transaction: Transaction): Promise<void>;
  /** Closes and records the chains of processes that have ended. */
  sweep(transaction: Transaction): Promise<void>;
  /** Closes and records the chain. */
  close(client: SqlClient): Promise<void>;
}

/** Returns the chain of a process, which is not open at first. Calls `keepAlive` with 1, 2, 3, … while it is open. */
export function ownChain(writesOnRoot: number, keepAlive: (beat: number) => void): OwnChain {
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
    if (head !== undefined) await findSettled(client, { chain: head.chain, entries: [] });
  }

  async function onRoot<T>(client: SqlClient, change: (transaction: Transaction) => Promise<T>): Promise<T> {
    let result: T | undefined;
    const { outcomes } = await runChange(client, ROOT_CHAIN, async (transaction) => {
      result = await change(transaction);
    });
    const [outcome] = outcomes;
    if (outcome?.state === 'refused') throw outcome.error;
    return result as T;
  }

  async function sweep(transaction: Transaction): Promise<void> {
    if (recorder !== undefined) await sweepChains(transaction, recorder);
  }

  return {
    useRecorder(used) {
      recorder = used;
    },
    head: () => open?.head,

    async forWrite(client) {
      if (open !== undefined && performance.now() - open.since > MAX_AGE_MS) await closeOpen(client);
      if (open !== undefined) return open.head;
      writes += 1;
      if (recorder === undefined || writes <= writesOnRoot) return undefined;
      const drafts = recorder;
      const head = await onRoot(client, (transaction) => openChain(transaction, drafts));
      if (head === undefined) return undefined;
      open = { head, noted: 0, since: performance.now() };
      timer = setInterval(() => keepAlive(++beats), HEARTBEAT_MS).unref();
      return head;
    },

    advance(head) {
      if (open !== undefined) open.head = head;
    },
    forget: () => void leave(),

    async abandon(client) {
      if (open === undefined) return;
      const { chain, sequence, link } = open.head;
      const found = await findSettled(client, { chain, entries: [{ sequence, link }] });
      const [[last, isPruned] = []] = await client.run(LAST, [chain, sequence]);
      leave();
      if (found.size > 0 || isPruned === true) return;
      // After a failover, another process may have opened a chain of the same number.
      const missing = Math.max(1, sequence - storedNumber(last));
      LOSSES.publish({ chain, missing } satisfies Loss);
    },

    async note({ append }) {
      if (open === undefined || recorder === undefined || open.head.sequence === open.noted) return;
      await append(recorder.noted([open.head]));
      open.noted = open.head.sequence;
    },

    sweep,

    async close(client) {
      await closeOpen(client);
      await onRoot(client, sweep);
    },
  };
}
