import type { AuditDraft, AuditEntry, AuthorityDraft, SealedRow } from '../../core/audit/ports.ts';
import type { Row } from '../rows/store-steps.ts';
import { insertReply } from '../rows/stored-replies.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import { type Bound, entryParameters, type Run, type Transaction } from './connections.ts';
import { DIALECT } from './dialect.ts';
import { perform } from './perform.ts';
import { named } from './sql-client.ts';
import { entriesOf, givenIn } from './token-statements.ts';

/** Selects a row if the row $1 exists with the link $2, or a prune has removed it. */
const KEPT = `SELECT 1 FROM vault.audit WHERE sequence = $1 AND link = $2
    UNION ALL SELECT 1 WHERE (SELECT min(sequence) FROM vault.audit) > $1`;

/** The number of rows among which a message may arrive after the one that repeats it. */
const LATE_ROWS = 20_000;

/**
 * The entries of `given` that are not written yet. A network may deliver a lost message after its writer has sent the
 * entries again.
 */
const NEW = `(SELECT ordinal FROM given WHERE NOT EXISTS (SELECT 1 FROM last, LATERAL (SELECT sealed FROM vault.audit
    WHERE sequence > greatest($3::bigint, last.sequence - ${LATE_ROWS}) AND sequence <= last.sequence OFFSET 0) written
  WHERE written.sealed = given.sealed)) g`;

export const HEAD_ROW = named({
  /** Fails with 22012 (division by zero) if the vault was moved away. */
  lockHead: 'SELECT 1 / count(*) AS open FROM (SELECT 1 FROM vault.head WHERE left_at IS NULL FOR UPDATE) h',
  auditHead: 'SELECT sequence, link, at FROM vault.audit ORDER BY sequence DESC LIMIT 1',
  /** Fails with 2201E (logarithm of zero) if the row $1 does not exist with the link $2. */
  requireWitness: `SELECT pg_catalog.ln(count(*)::double precision) AS kept FROM (${KEPT}) k`,
  appendAudit: `WITH ${givenIn(3)}, ${entriesOf('(SELECT ordinal FROM given) g')} SELECT count(*) FROM rows`,
  /** Further parameter: the sequence of an earlier row. Skips entries that are already written behind it. */
  appendOnce: `WITH ${givenIn(4)}, ${entriesOf(NEW)} SELECT count(*) FROM rows`,
});

const READ = `SELECT sequence, at, sealed, link FROM vault.audit WHERE sequence > $1
    ORDER BY sequence LIMIT $2`;
const READ_FROM = 'SELECT sequence, at, sealed, link FROM vault.audit WHERE sequence >= $1 ORDER BY sequence';

/** Parameters: the first sequence, sealed entries. Selects those that exist. */
const FIND_WRITTEN = 'SELECT sealed FROM vault.audit WHERE sequence > $1 AND sealed = ANY ($2::bytea[])';

/** Decodes a row of `audit`. Replaces an invalid time with 0, so that the link breaks at this entry. */
export function toEntry([sequence, at, sealed, link]: Row): AuditEntry {
  return {
    sequence: storedNumber(sequence),
    at: Number.isSafeInteger(at) ? storedNumber(at) : 0,
    sealed: storedBytes(sealed),
    link: storedBytes(link),
  };
}

/** Resolves to at most `limit` rows after the sequence `after`, in order. */
export async function readRows(run: Run, after: number, limit: number): Promise<readonly AuditEntry[]> {
  return (await run(READ, [after, limit])).map(toEntry);
}

/** Resolves to the last entry, with its time. */
export async function readHead(run: Run) {
  const [[sequence, link, at] = []] = await run(HEAD_ROW.auditHead);
  return { sequence: storedNumber(sequence), link: storedBytes(link), at: storedNumber(at) };
}

/**
 * Returns the statements that fail if the database lacks a row that the writers of these drafts knew. The latest of their
 * witnesses suffices, because all are of one history.
 */
export function requireWitnesses(drafts: readonly SealedRow[]): readonly Bound[] {
  const [first, ...others] = drafts.map(({ witness }) => witness);
  if (first === undefined) return [];
  const last = others.reduce((a, b) => (b.sequence > a.sequence ? b : a), first);
  return [[HEAD_ROW.requireWitness, [last.sequence, last.link]]];
}

/** Returns the statement that appends entries which record no change, and so are not refused when they come again. */
export function appending(drafts: readonly AuditDraft[]): Bound {
  return [HEAD_ROW.appendOnce, [...entryParameters(drafts), firstWitness(drafts)]];
}

function firstWitness(drafts: readonly SealedRow[]): number {
  return Math.min(...drafts.map(({ witness }) => witness.sequence));
}

/** Returns a transaction that holds the lock of the audit. */
export function openTransaction(run: Run): Transaction {
  const entries: SealedRow[] = [];

  /** Returns a draft with its sealed row. */
  async function sealed(draft: AuditDraft | AuthorityDraft): Promise<AuditDraft> {
    if (!('sealBehind' in draft)) return draft;
    return { ...draft, ...draft.sealBehind((await run(READ_FROM, [draft.from()])).map(toEntry)) };
  }

  async function append(...drafts: readonly AuditDraft[]): Promise<void> {
    if (drafts.length === 0) return;
    entries.push(...drafts);
    await Promise.all([
      ...requireWitnesses(drafts).map(([statement, values]) => run(statement, values)),
      run(HEAD_ROW.appendAudit, entryParameters(drafts)),
    ]);
  }

  return {
    run,
    entries,
    append,
    async record(draft) {
      await append(await sealed(draft));
      if (draft.reply !== undefined) await perform(run, insertReply(DIALECT, draft.reply));
    },
  };
}

/** Resolves to those of the drafts that the audit contains. */
export async function findWritten(run: Run, drafts: readonly SealedRow[]): Promise<ReadonlySet<SealedRow>> {
  if (drafts.length === 0) return new Set();
  const rows = await run(FIND_WRITTEN, [firstWitness(drafts), drafts.map(({ sealed }) => sealed)]);
  const found = new Set(rows.map(([sealed]) => Buffer.from(storedBytes(sealed)).toString('latin1')));
  return new Set(drafts.filter(({ sealed }) => found.has(Buffer.from(sealed).toString('latin1'))));
}
