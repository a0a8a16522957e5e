import { ownTurn } from '../own-turn.ts';
import type { Keyring } from '../ports.ts';
import { logSubjectsOf } from './log-entries.ts';
import type { AuditEntry, LoggedRow } from './ports.ts';
import { type AuditParts, BrokenAudit, openRow, type PlacedEvent } from './walk-audit.ts';

/** The limits of one read and of one write to the index: rows, and subjects, of which a batch has a thousand. */
const MAX_ROWS = 20;
const MAX_SUBJECTS = 500;

export interface LogParts extends AuditParts {
  readonly keyring: AuditParts['keyring'] & Pick<Keyring, 'auditSubject'>;
}

/**
 * Adds to the log index the rows of the audit that it does not cover yet, with about `limit` subjects, in slices between which
 * other calls go on. Entries are not indexed when they are written: a create would pay for random pages, and a read too.
 */
export async function indexLog({ store, keyring }: LogParts, limit = Number.POSITIVE_INFINITY): Promise<void> {
  for (let left = limit; left > 0; ) {
    await ownTurn();
    const from = await store.logIndexEnd();
    const entries = await store.readAudit(from, MAX_ROWS);
    const rows: LoggedRow[] = [];
    let subjects = 0;
    for (const entry of entries) {
      const row = loggedRow(keyring, entry.sequence, openAny(keyring, entry));
      rows.push(row);
      subjects += row.blinds.length;
      if (subjects >= MAX_SUBJECTS) break;
    }
    const last = rows.at(-1);
    if (last === undefined) return;
    await store.indexLog(rows, from, last.sequence);
    left -= Math.max(1, subjects);
  }
}

/** Returns the index entries of a row. */
export function loggedRow(
  keyring: LogParts['keyring'],
  sequence: number,
  placed: readonly Pick<PlacedEvent, 'event'>[],
): LoggedRow {
  const subjects = placed.flatMap(({ event }) => logSubjectsOf(event));
  const named = new Map(subjects.map((subject) => [`${subject.kind} ${subject.tenant_id} ${subject.id}`, subject]));
  return { sequence, blinds: [...named.values()].map((subject) => keyring.auditSubject(subject)) };
}

/** A damaged row has nothing to index: it must not hide those behind it. */
function openAny(keyring: LogParts['keyring'], entry: AuditEntry): readonly PlacedEvent[] {
  try {
    return openRow(keyring, entry);
  } catch (error) {
    if (error instanceof BrokenAudit) return [];
    throw error;
  }
}
