import { NO_LINK } from '../../../core/audit/audit-link.ts';
import type { AuditDraft, AuditEntry, AuditHead, IndexedPlace } from '../../../core/audit/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { sqliteCode } from '../file/sqlite-error.ts';

/** Of a damaged row anything may come: nothing in place of what the table excludes, so that the chain breaks there. */
function asEntry({ sequence, at, sealed, link }: AuditEntry): AuditEntry {
  return {
    sequence,
    at: Number.isSafeInteger(at) ? at : 0,
    sealed: Buffer.isBuffer(sealed) ? sealed : NO_BYTES,
    link: Buffer.isBuffer(link) ? link : NO_BYTES,
  };
}

const NO_BYTES = new Uint8Array();

/** The tables `audit` and `audit_subject` of `schema`. Synchronous; `append` needs the transaction of the change. */
export function auditRows(connection: Connection, schema: 'main' | 'vault' = 'main') {
  const { rows, value } = statements(connection);
  const last = rows<[], AuditHead>(`SELECT sequence, link FROM ${schema}.audit ORDER BY sequence DESC LIMIT 1`);
  const insert = rows<[number, number, Uint8Array, Uint8Array]>(
    `INSERT INTO ${schema}.audit (sequence, at, sealed, link) VALUES (?, ?, ?, ?)`,
  );
  const after = rows<[number, number], AuditEntry>(
    `SELECT sequence, at, sealed, link FROM ${schema}.audit WHERE sequence > ? ORDER BY sequence LIMIT +?`,
  );

  const index = rows<[Uint8Array, number]>(
    `INSERT OR IGNORE INTO ${schema}.audit_subject (blind, sequence, n) VALUES (?, ?, 0)`,
  );
  const lastOf = value<[Uint8Array, number], number | null>(
    `SELECT max(sequence) FROM ${schema}.audit_subject WHERE blind = +? AND sequence <= ?`,
  );
  const hasSubject = value<[Uint8Array, number], number>(
    `SELECT 1 FROM ${schema}.audit_subject WHERE blind = +? AND sequence = +? AND n = 0`,
  );
  const countIndex = value<[number], number>(`SELECT count(*) FROM ${schema}.audit_subject WHERE sequence <= ?`);

  function head(): AuditHead {
    const found = last().get();
    if (found === undefined) return { sequence: 0, link: NO_LINK };
    if (!Buffer.isBuffer(found.link)) throw new Problem('integrity_failure');
    return found;
  }

  return {
    head,

    /** The head is read anew each time: another process, or a group that was rolled back, may have moved it. */
    append(...drafts: readonly AuditDraft[]): void {
      let before = head();
      for (const { at, sealed, subjects, link } of drafts) {
        const sequence = before.sequence + 1;
        const own = link(before.link, sequence);
        try {
          insert().run(sequence, at, sealed, own);
          for (const subject of subjects) index().run(subject, sequence);
        } catch (cause) {
          // A place behind the last is free, unless the table is damaged.
          throw sqliteCode(cause)?.startsWith('SQLITE_CONSTRAINT')
            ? new Problem('integrity_failure', { cause })
            : cause;
        }
        before = { sequence, link: own };
      }
    },

    /** Returns the last place at or before `before` with one of the subjects. */
    findLast(subjects: readonly Uint8Array[], before: number): number | undefined {
      return Math.max(0, ...subjects.map((subject) => lastOf().get(subject, before) ?? 0)) || undefined;
    },

    findUnindexed: (places: readonly IndexedPlace[]): readonly number[] =>
      places
        .filter(({ sequence, subjects }) =>
          subjects.some((subject) => hasSubject().get(subject, sequence) === undefined),
        )
        .map(({ sequence }) => sequence),

    countIndex: (upTo: number): number => countIndex().get(upTo) ?? 0,

    read: (sequence: number, limit: number): readonly AuditEntry[] => after().all(sequence, limit).map(asEntry),
  };
}
