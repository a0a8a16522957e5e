import { ownTurn } from '../own-turn.ts';
import type { Keyring } from '../ports.ts';
import { logSubjectsOf } from './log-entries.ts';
import type { AuditEntry, LoggedRow } from './ports.ts';
import { type AuditParts, BrokenAudit, openRow, type PlacedEvent } from './walk-audit.ts';

/** The limits of one read and one write of the index: rows, and subjects (a batch has a thousand). */
const MAX_ROWS = 20;
const MAX_SUBJECTS = 500;

export interface LogParts extends AuditParts {
  readonly keyring: AuditParts['keyring'] & Pick<Keyring, 'auditSubject'>;
}

/**
 * Adds missing rows of the audit to the log index, with about `limit` subjects, in slices between which other calls
 * run. Entries are indexed later because random page writes would slow each create and read.
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

/** A damaged row has no index entries, but must not hide later rows. */
function openAny(keyring: LogParts['keyring'], entry: AuditEntry): readonly PlacedEvent[] {
  try {
    return openRow(keyring, entry);
  } catch (error) {
    if (error instanceof BrokenAudit) return [];
    throw error;
  }
}
