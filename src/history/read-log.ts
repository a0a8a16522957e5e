import { addedBy, type FollowKeys } from '../core/audit/follow-rows.ts';
import { loggedRow } from '../core/audit/log-index.ts';
import type { AuditHead, AuditStore, LoggedRow } from '../core/audit/ports.ts';
import { addDigests, isOfAuthority } from '../core/audit/record-digest.ts';
import { createSeenRows } from '../core/audit/seen-rows.ts';
import {
  type Base,
  createSums,
  digestOfState,
  encodeState,
  type LogState,
  readBase,
  type Sums,
} from '../core/audit/sums.ts';
import { type AuditReadParts, BrokenAudit, type PositionedEvent, walkAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { Finding } from '../core/key-holder-ports.ts';
import type { Keyring, Store } from '../core/ports.ts';

/** A finding at a row of the audit. */
export interface BadEntry extends Finding {
  readonly sequence: number;
}

/** The log up to `head`. */
export interface ReadLog {
  readonly base: Base;
  readonly sums: Sums;
  readonly head: AuditHead;
  readonly entries: number;
  /** The number of denials in entries that hold only a count. */
  readonly denials: number;
  readonly bad: readonly BadEntry[];
}

export interface LogParts extends AuditReadParts {
  readonly store: Store;
  readonly keyring: Keyring;
  /** Awaited from time to time, so that calls need not wait. */
  readonly yieldToLoop?: (() => Promise<void>) | undefined;
  /** The number of rows of a table in one read. */
  readonly sliceRows?: number | undefined;
  /** All pruned rows, oldest first. Default: the base replaces them. */
  readonly archives?: readonly ArchivedRows[] | undefined;
}

/** The rows of an archive: those after `after`, up to `through`. */
export interface ArchivedRows extends Pick<AuditStore, 'readAudit' | 'auditHead'> {
  readonly after: AuditHead;
  readonly through: AuditHead;
}

const OTHER_HEADER =
  'was changed from a state that is not its last one in the audit: an older header had been restored';
const RESET = 'was emptied of other tokens than the audit names: older rows had been restored, or rows removed';
const OTHER_BASE = 'differs from the archives: the base of the audit was put back';

/** The error for a command during which another process pruned the audit. */
export function prunedMeanwhile(cause?: unknown): Fault {
  return new Fault('conflict', 'entries were pruned meanwhile', { hint: 'run the command again', cause });
}

/** Runs `work` again while prunes by other processes explain its failure. */
export async function untilUnpruned<T>(parts: Pick<LogParts, 'store' | 'keyring'>, work: (base: Base) => Promise<T>) {
  for (;;) {
    const base = await readBase(parts);
    try {
      return await work(base);
    } catch (error) {
      if (!(error instanceof BrokenAudit) || (await readBase(parts)).sequence === base.sequence) throw error;
    }
  }
}

/** Yields the events of the archives and of the log after them, up to the end. */
export async function* walkLog(parts: LogParts, base: Base): AsyncGenerator<PositionedEvent> {
  const { archives = [], keyring } = parts;
  const seen = createSeenRows();
  for (const store of archives) yield* walkAudit({ store, keyring }, store.after, seen);
  yield* walkAudit(parts, base, seen);
}

/** Reads the whole log up to now. Reads it again after a prune meanwhile. Throws `BrokenAudit`. */
export function readLog(parts: LogParts): Promise<ReadLog> {
  return untilUnpruned(parts, (base) => readOnce(parts, base));
}

async function readOnce(parts: LogParts, base: Base): Promise<ReadLog> {
  const { archives, keyring } = parts;
  if (archives !== undefined && archives.at(-1)?.through.sequence !== base.sequence) throw prunedMeanwhile();
  const sums = createSums(keyring, archives === undefined ? base.state : undefined);
  const first = archives === undefined ? base.sequence : 0;
  const authority = createAuthorityCheck(keyring, first, sums.state());
  const index = await indexCheck(parts, base.sequence);
  const bad: BadEntry[] = [];
  let head: AuditHead = base;
  let [entries, denials] = [0, 0];
  let isInArchives = archives !== undefined;

  function found(sequence: number, what: string): void {
    bad.push({ sequence, table: 'audit', id: String(sequence), what });
  }

  function compareBase(): void {
    const isSame = encodeState(sums.state()) === encodeState(base.state);
    if (isInArchives && !isSame) found(base.sequence, OTHER_BASE);
    isInArchives = false;
  }

  for await (const positioned of walkLog(parts, base)) {
    if (positioned.sequence > base.sequence) {
      compareBase();
      await index.expect(positioned);
      head = positioned;
    }
    const wrong = authority.next(positioned, (tenantId) => sums.sumsOf(tenantId).authority);
    if (wrong !== undefined) found(positioned.sequence, wrong);
    entries += 1;
    denials += positioned.event.counted?.count ?? 0;
    sums.apply(positioned);
  }
  compareBase();
  bad.push(...(await index.findings(head)));
  return { base, sums, head, entries, denials, bad };
}

/** Returns the entries that contradict the entries before them, as findings. */
export function contradictionsOf(sums: Sums): readonly BadEntry[] {
  return sums.contradictions().map(({ sequence, tenant_id: id }) => {
    if (id === undefined) return { sequence, table: 'header', id: '', what: OTHER_HEADER };
    return { sequence, table: 'tenant', id, what: RESET };
  });
}

/** The number of subjects that are looked up in the index at once. The entry of a batch may have a thousand subjects. */
const BATCH = 100;
const UNINDEXED = 'has no row in the index of the audit: the row was removed outside the vault';
const OVERINDEXED = 'has rows without an entry: they were added outside the vault';

/** Returns a check that compares the log index, as far as it goes, with the events after the row `first`, in order. */
async function indexCheck({ store, keyring, yieldToLoop }: LogParts, first: number) {
  const end = await store.logIndexEnd();
  const missing: number[] = [];
  const count = (upTo: number) => store.countLogIndex(Math.min(upTo, end));
  let row: PositionedEvent[] = [];
  let waiting: LoggedRow[] = [];
  let [held, subjects] = [0, 0];

  async function compare(): Promise<void> {
    missing.push(...(await store.findUnlogged(waiting)));
    waiting = [];
    held = 0;
    await yieldToLoop?.();
  }

  async function endRow(): Promise<void> {
    const sequence = row[0]?.sequence ?? end + 1;
    if (sequence > end) return;
    const logged = loggedRow(keyring, sequence, row);
    subjects += logged.blinds.length;
    held += Math.max(1, logged.blinds.length);
    waiting.push(logged);
    if (held >= BATCH) await compare();
  }

  return {
    async expect(positioned: PositionedEvent): Promise<void> {
      if (row[0]?.sequence !== positioned.sequence) {
        await endRow();
        row = [];
      }
      row.push(positioned);
    },

    async findings({ sequence: last }: AuditHead): Promise<readonly BadEntry[]> {
      await endRow();
      await compare();
      // A prune meanwhile removes the rows of the index with those of the audit.
      const { sequence: pruned } = missing.length > 0 ? await readBase({ store, keyring }) : { sequence: first };
      const lasting = missing.filter((sequence) => sequence > pruned);
      if (lasting.length > 0) {
        return lasting.map((sequence) => ({ sequence, table: 'audit', id: String(sequence), what: UNINDEXED }));
      }
      // Count the earlier rows first, because a prune may remove some of them in between.
      const earlier = await count(first);
      const surplus = (await count(last)) - earlier > subjects;
      return surplus ? [{ sequence: last, table: 'audit_index', id: '', what: OVERINDEXED }] : [];
    },
  };
}

/**
 * Returns a check of the digests and of the rows of authority that the witnesses name, from a row on with the state
 * `state`. It gets all events in order, each before the sums. Only a holder of the key can write a wrong one, or a faulty
 * version of the vault: no process could then open the vault, so doctor must name the row.
 */
function createAuthorityCheck(keyring: FollowKeys, from: number, state: LogState) {
  let digest = digestOfState(keyring, state);
  const rows = [state.authority];

  /** Returns the last row of authority up to a row. */
  function lastUpTo(sequence: number): number | undefined {
    return rows.findLast((row) => row <= sequence);
  }

  return {
    /** Returns what is wrong with the row of an event; undefined if nothing is. `sumOf` is that of a tenant before it. */
    next(positioned: PositionedEvent, sumOf: (tenantId: string) => bigint): string | undefined {
      const { n, sequence, event, witness } = positioned;
      const isOwn = isOfAuthority(event);
      if (n === 1 && witness.sequence >= from && lastUpTo(witness.sequence) !== witness.authority) {
        return `names row ${witness.authority}, which is not the last change of authority before it`;
      }
      if (isOwn !== (positioned.digest !== undefined)) {
        return isOwn ? 'changes authority, but has no digest' : 'has a digest, but changes no authority';
      }
      if (positioned.digest === undefined) return undefined;
      const expected = addDigests(digest, addedBy(keyring, [event], sumOf));
      digest = positioned.isLast ? positioned.digest : expected;
      if (!positioned.isLast) return undefined;
      rows.push(sequence);
      if (witness.sequence !== sequence - 1) return 'is not the row that was written at its position';
      return digest === expected ? undefined : 'contradicts the entries before it';
    },
  };
}
