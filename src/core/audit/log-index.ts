import { ownSlice } from '../slices.ts';
import { runningTime } from '../timers.ts';
import { logSubjectsOf } from './log-entries.ts';
import type { AuditEntry, AuditStore, LoggedRow } from './ports.ts';
import { type AuditReadParts, BrokenAudit, openRow, type PositionedEvent } from './walk-audit.ts';

/**
 * The maximum number of rows in one read and of subjects in one write of the index. A batch has up to a thousand
 * subjects.
 */
const MAX_ROWS = 20;
const MAX_SUBJECTS = 500;

export interface LogIndexParts extends AuditReadParts {
  readonly store: AuditStore;
}

/** The maximum time of a call, in milliseconds. Rows may arrive faster than it adds them. */
const MAX_MS = 30_000;

/**
 * Adds missing rows to the log index, until about `limit` subjects are added, `hasEnded` returns true, or 30 seconds
 * have passed. Works in slices and awaits `yieldToLoop` before each, so that other calls run in between. Entries are
 * indexed later because random page writes would slow down each create and read.
 */
export async function indexLog(
  { store, keyring }: LogIndexParts,
  limit = Number.POSITIVE_INFINITY,
  yieldToLoop: () => Promise<void> = ownSlice,
  hasEnded = () => false,
): Promise<void> {
  const end = runningTime() + MAX_MS;
  for (let remaining = limit; remaining > 0; ) {
    await yieldToLoop();
    if (hasEnded() || runningTime() > end) return;
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
    remaining -= Math.max(1, subjects);
  }
}

/** Returns the entries of the log index for an audit row. */
export function loggedRow(
  keyring: LogIndexParts['keyring'],
  sequence: number,
  positioned: readonly PositionedEvent[],
): LoggedRow {
  const subjects = positioned.flatMap(({ event }) => logSubjectsOf(event));
  const named = new Map(subjects.map((subject) => [`${subject.kind} ${subject.tenant_id} ${subject.id}`, subject]));
  return { sequence, blinds: [...named.values()].map((subject) => keyring.auditSubject(subject)) };
}

/** Opens a row. Returns no events for a damaged row, which must not hide later rows. */
function openAny(keyring: LogIndexParts['keyring'], entry: AuditEntry): readonly PositionedEvent[] {
  try {
    return openRow(keyring, entry);
  } catch (error) {
    if (error instanceof BrokenAudit) return [];
    throw error;
  }
}
