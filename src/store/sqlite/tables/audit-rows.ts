import { LINK_BYTES, linkOf, START, UNLINKED } from '../../../core/audit/audit-link.ts';
import type { AuditEntry, AuditHead, AuthorityDraft, LoggedRow, SealedRow } from '../../../core/audit/ports.ts';
import { isSameBytes } from '../../../core/bytes.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { sqliteCode } from '../file/sqlite-error.ts';

/** Replaces values of a damaged row that the table does not allow, so that the link breaks at this entry. */
function asEntry({ at, sealed, link, ...position }: AuditEntry): AuditEntry {
  return {
    ...position,
    at: Number.isSafeInteger(at) ? at : 0,
    sealed: Buffer.isBuffer(sealed) ? sealed : NO_BYTES,
    link: Buffer.isBuffer(link) ? link : NO_BYTES,
  };
}

const NO_BYTES = new Uint8Array();

/** The limit of a read of all rows. */
const ALL = -1;

/** Returns whether an audit that ends with `head` can have the row `witness`. */
function isBehind(head: AuditHead, witness: AuditHead): boolean {
  if (head.sequence > witness.sequence) return true;
  return head.sequence === witness.sequence && isSameBytes(head.link, witness.link);
}

/**
 * The tables `audit` and `audit_index`. All functions are synchronous; `append` runs in the transaction
 * of the change.
 */
export function auditRows(connection: Connection) {
  const { rows, value } = statements(connection);
  const last = rows<[], AuditHead>(`SELECT sequence, link FROM audit ORDER BY sequence DESC LIMIT 1`);
  const insert = rows<[number, number, Uint8Array, Uint8Array]>(
    `INSERT INTO audit (sequence, at, sealed, link) VALUES (?, ?, ?, ?)`,
  );
  const rowsAfter = rows<[number, number], AuditEntry>(
    `SELECT sequence, at, sealed, link FROM audit WHERE sequence > ? ORDER BY sequence LIMIT +?`,
  );

  const tail = rows<[number], AuditEntry>(
    `SELECT sequence, at, sealed, link FROM audit ORDER BY sequence DESC LIMIT +?`,
  );

  const logged = value<[Uint8Array, number, number], number>(
    `SELECT sequence FROM audit_index WHERE blind = +? AND sequence < ? ORDER BY sequence DESC LIMIT +?`,
  );
  const log = rows<[Uint8Array, number]>(`INSERT OR IGNORE INTO audit_index (blind, sequence) VALUES (?, ?)`);
  const logEnd = value<[], number | null>(`SELECT max(sequence) FROM audit_index WHERE blind = x''`);
  const forgetEnd = rows<[]>(`DELETE FROM audit_index WHERE blind = x''`);
  const hasLogged = value<[Uint8Array, number], number>(`SELECT 1 FROM audit_index WHERE blind = +? AND sequence = +?`);
  const countLog = value<[number], number>(`SELECT count(*) FROM audit_index WHERE sequence <= ? AND blind <> x''`);

  const unlog = rows<[Uint8Array, number]>(`DELETE FROM audit_index WHERE blind = +? AND sequence <= ?`);
  const removeRows = rows<[number]>(`DELETE FROM audit WHERE sequence < ?`);
  const replaceSealed = rows<[Uint8Array, number]>(`UPDATE audit SET sealed = ? WHERE sequence = +?`);
  const first = value<[], number>(`SELECT min(sequence) FROM audit`);

  function head(): AuditHead {
    const found = last().get();
    if (found === undefined) return START;
    if (!Buffer.isBuffer(found.link) || found.link.length !== LINK_BYTES) throw new Problem('integrity_failure');
    return found;
  }

  function read(after: number, limit: number): readonly AuditEntry[] {
    return rowsAfter().all(after, limit).map(asEntry);
  }

  /**
   * Appends rows as one commit. Reads the last row each time: another process, or a rolled-back batch, may have changed
   * it. Throws `integrity_failure` if it is not behind the rows that the writers of the drafts knew.
   */
  function append(...drafts: readonly SealedRow[]): void {
    const before = head();
    const added = drafts.map(({ at, sealed }, index) => ({ sequence: before.sequence + 1 + index, at, sealed }));
    const link = linkOf(before.link, added);
    for (const { witness } of drafts) if (!isBehind(before, witness)) throw new Problem('integrity_failure');
    try {
      for (const [index, { sequence, at, sealed }] of added.entries()) {
        insert().run(sequence, at, sealed, index === added.length - 1 ? link : UNLINKED);
      }
    } catch (cause) {
      // The next sequence number is free unless the table is damaged.
      throw sqliteCode(cause)?.startsWith('SQLITE_CONSTRAINT') ? new Problem('integrity_failure', { cause }) : cause;
    }
  }

  return {
    head,

    append,

    /** Seals the row of a change of authority at its position. */
    placed: (draft: AuthorityDraft): SealedRow => draft.sealBehind(read(draft.from() - 1, ALL)),

    /** Returns the last row, even a damaged one. */
    end() {
      const entry = tail().get(1);
      return entry === undefined ? { ...START, at: 0 } : asEntry(entry);
    },

    /** Returns the last rows, in order. */
    tail: (limit: number): readonly AuditEntry[] => tail().all(limit).map(asEntry).toReversed(),

    logEnd: (): number => logEnd().get() ?? 0,

    indexLog(added: readonly LoggedRow[], from: number, end: number): void {
      const covered = logEnd().get() ?? 0;
      if (from > covered) return;
      // A prune may have removed rows since they were read.
      const base = first().get() ?? 0;
      for (const { sequence, blinds } of added) {
        if (sequence > base) for (const blind of blinds) log().run(blind, sequence);
      }
      if (end <= covered) return;
      forgetEnd().run();
      log().run(NO_BYTES, end);
    },

    findLogged(blinds: readonly Uint8Array[], before: number, limit: number): readonly number[] {
      const found = blinds.flatMap((blind) => logged().all(blind, before, limit));
      return [...new Set(found)].sort((a, b) => b - a).slice(0, limit);
    },

    findUnlogged: (expected: readonly LoggedRow[]): readonly number[] =>
      expected
        .filter(({ sequence, blinds }) => blinds.some((blind) => hasLogged().get(blind, sequence) === undefined))
        .map(({ sequence }) => sequence),

    countLog: (upTo: number): number => countLog().get(upTo) ?? 0,

    moveBase(from: AuditHead, { sequence, sealed }: AuditEntry, blinds: readonly Uint8Array[]): boolean {
      const [base] = read(-1, 1);
      if (base?.sequence !== from.sequence || !isSameBytes(base.link, from.link)) return false;
      for (const blind of blinds) unlog().run(blind, sequence);
      removeRows().run(sequence);
      replaceSealed().run(sealed, sequence);
      return true;
    },

    read,
  };
}
