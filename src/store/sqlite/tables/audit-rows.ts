import { LINK_BYTES, linkOf, START, UNLINKED } from '../../../core/audit/audit-link.ts';
import type {
  AuditDraft,
  AuditEntry,
  AuditHead,
  AuditPlace,
  IndexedPlace,
  LoggedRow,
} from '../../../core/audit/ports.ts';
import { isSameBytes } from '../../../core/is-bytes.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { sqliteCode } from '../file/sqlite-error.ts';

/** Replaces values of a damaged row that the table does not allow, so that the link breaks at this entry. */
function asEntry({ at, sealed, link, ...place }: AuditEntry): AuditEntry {
  return {
    ...place,
    at: Number.isSafeInteger(at) ? at : 0,
    sealed: Buffer.isBuffer(sealed) ? sealed : NO_BYTES,
    link: Buffer.isBuffer(link) ? link : NO_BYTES,
  };
}

const NO_BYTES = new Uint8Array();

/** Returns whether an audit that ends with `head` can have the row `witness`. */
function isBehind(head: AuditHead, witness: AuditHead): boolean {
  if (head.sequence > witness.sequence) return true;
  return head.sequence === witness.sequence && isSameBytes(head.link, witness.link);
}

/**
 * The tables `audit`, `audit_subject` and `audit_index`. All functions are synchronous; `append` runs in the transaction
 * of the change.
 */
export function auditRows(connection: Connection) {
  const { rows, value } = statements(connection);
  const last = rows<[], AuditHead>(`SELECT sequence, link FROM audit ORDER BY sequence DESC LIMIT 1`);
  const insert = rows<[number, number, Uint8Array, Uint8Array]>(
    `INSERT INTO audit (sequence, at, sealed, link) VALUES (?, ?, ?, ?)`,
  );
  const after = rows<[number, number], AuditEntry>(
    `SELECT sequence, at, sealed, link FROM audit WHERE sequence > ? ORDER BY sequence LIMIT +?`,
  );

  const subjectOf = rows<[Uint8Array, number, number]>(
    `INSERT OR IGNORE INTO audit_subject (blind, sequence, n) VALUES (?, ?, ?)`,
  );
  const lastOf = rows<[Uint8Array, number], AuditPlace>(
    `SELECT sequence, n FROM audit_subject WHERE blind = +? AND sequence <= ? ORDER BY sequence DESC, n DESC LIMIT 1`,
  );
  const hasSubject = value<[Uint8Array, number, number], number>(
    `SELECT 1 FROM audit_subject WHERE blind = +? AND sequence = +? AND n = +?`,
  );
  const countIndex = value<[number], number>(`SELECT count(*) FROM audit_subject WHERE sequence <= ?`);

  const logged = ['audit_index', 'audit_subject'].map((table) =>
    value<[Uint8Array, number, number], number>(
      `SELECT DISTINCT sequence FROM ${table} WHERE blind = +? AND sequence < ? ORDER BY sequence DESC LIMIT +?`,
    ),
  );
  const log = rows<[Uint8Array, number]>(`INSERT OR IGNORE INTO audit_index (blind, sequence) VALUES (?, ?)`);
  const logEnd = value<[], number | null>(`SELECT max(sequence) FROM audit_index WHERE blind = x''`);
  const forgetEnd = rows<[]>(`DELETE FROM audit_index WHERE blind = x''`);
  const hasLogged = value<[Uint8Array, number], number>(`SELECT 1 FROM audit_index WHERE blind = +? AND sequence = +?`);
  const countLog = value<[number], number>(`SELECT count(*) FROM audit_index WHERE sequence <= ? AND blind <> x''`);

  const removals = ['audit_subject', 'audit_index'].map((table) =>
    rows<[Uint8Array, number, number]>(`DELETE FROM ${table} WHERE blind = +? AND sequence BETWEEN ? AND ?`),
  );
  const removeRows = rows<[number, number]>(`DELETE FROM audit WHERE sequence BETWEEN ? AND ?`);

  function head(): AuditHead {
    const found = last().get();
    if (found === undefined) return START;
    if (!Buffer.isBuffer(found.link) || found.link.length !== LINK_BYTES) throw new Problem('integrity_failure');
    return found;
  }

  return {
    head,

    /**
     * Appends entries. Reads the last entry each time: another process, or a rolled-back group, may have changed it.
     * Throws `integrity_failure` if it is not behind the entries that the writers of the drafts knew.
     */
    append(...drafts: readonly AuditDraft[]): void {
      const before = head();
      const added = drafts.map(({ at, sealed }, index) => ({ sequence: before.sequence + 1 + index, at, sealed }));
      const link = linkOf(before.link, added);
      for (const { witness } of drafts) if (!isBehind(before, witness)) throw new Problem('integrity_failure');
      try {
        for (const [index, { sequence, at, sealed }] of added.entries()) {
          insert().run(sequence, at, sealed, index === added.length - 1 ? link : UNLINKED);
          for (const { blind, n } of drafts[index]?.subjects ?? []) subjectOf().run(blind, sequence, n);
        }
      } catch (cause) {
        // The next sequence number is free unless the table is damaged.
        throw sqliteCode(cause)?.startsWith('SQLITE_CONSTRAINT') ? new Problem('integrity_failure', { cause }) : cause;
      }
    },

    /** Returns the last row, even a damaged one. */
    end() {
      const { sequence = 0 } = last().get() ?? {};
      const entry = after().get(sequence - 1, 1);
      return entry === undefined ? { ...START, at: 0 } : asEntry(entry);
    },

    /** Returns the last place of any of `subjects` in the rows up to `before`, if there is one. */
    findLast(subjects: readonly Uint8Array[], before: number): AuditPlace | undefined {
      const places = subjects.map((subject) => lastOf().get(subject, before)).filter((place) => place !== undefined);
      return places.sort((a, b) => b.sequence - a.sequence || b.n - a.n)[0];
    },

    findUnindexed: (places: readonly IndexedPlace[]): readonly number[] =>
      places
        .filter(({ sequence, subjects }) =>
          subjects.some(({ blind, n }) => hasSubject().get(blind, sequence, n) === undefined),
        )
        .map(({ sequence }) => sequence),

    countIndex: (upTo: number): number => countIndex().get(upTo) ?? 0,

    logEnd: (): number => logEnd().get() ?? 0,

    indexLog(added: readonly LoggedRow[], from: number, end: number): void {
      const covered = logEnd().get() ?? 0;
      if (from > covered) return;
      for (const { sequence, blinds } of added) for (const blind of blinds) log().run(blind, sequence);
      if (end <= covered) return;
      forgetEnd().run();
      log().run(NO_BYTES, end);
    },

    findLogged(blinds: readonly Uint8Array[], before: number, limit: number): readonly number[] {
      const found = blinds.flatMap((blind) => logged.flatMap((each) => each().all(blind, before, limit)));
      return [...new Set(found)].sort((a, b) => b - a).slice(0, limit);
    },

    findUnlogged: (expected: readonly LoggedRow[]): readonly number[] =>
      expected
        .filter(({ sequence, blinds }) => blinds.some((blind) => hasLogged().get(blind, sequence) === undefined))
        .map(({ sequence }) => sequence),

    countLog: (upTo: number): number => countLog().get(upTo) ?? 0,

    prune(first: number, last: number, blinds: readonly Uint8Array[]): void {
      for (const remove of removals) for (const blind of blinds) remove().run(blind, first, last);
      removeRows().run(first, last);
    },

    read: (sequence: number, limit: number): readonly AuditEntry[] => after().all(sequence, limit).map(asEntry),
  };
}
