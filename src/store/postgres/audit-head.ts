import type { AuditDraft, AuditHead } from '../../core/audit/ports.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import type { Bound, Place, Run, Transaction } from './connections.ts';
import { insertReply } from './reply-rows.ts';
import { listsOf, named } from './sql-client.ts';
import { blindText } from './uuid-text.ts';

/** The entry with the sequence and the link of the row `s`. */
const ENTRY_OF_S = 'LATERAL (SELECT 1 FROM vault.audit WHERE sequence = s.sequence AND link = s.link OFFSET 0) a';

export const HEAD_ROW = named({
  /** Fails with 22012 (division by zero) if the vault was moved away. */
  lockHead: 'SELECT 1 / count(*) AS open FROM (SELECT 1 FROM vault.head WHERE left_at IS NULL FOR UPDATE) h',
  auditHead: 'SELECT sequence, link, at FROM vault.audit ORDER BY sequence DESC LIMIT 1',
  /** Parameters: lists of sequences, links, blind indexes and their numbers. Skips missing entries. */
  addSubjects: `INSERT INTO vault.audit_subject (blind, sequence, n) SELECT s.blind, s.sequence, s.n
    FROM unnest($1::bigint[], $2::bytea[], $3::uuid[], $4::integer[]) s (sequence, link, blind, n),
      ${ENTRY_OF_S}
    ON CONFLICT DO NOTHING`,
  /** Parameters: lists of the sequences and links of removals, and the blind indexes of their records. */
  emptyReplies: `UPDATE vault.reply SET sealed = '' WHERE reply = ANY (ARRAY(SELECT r.reply
    FROM unnest($1::bigint[], $2::bytea[], $3::uuid[]) s (sequence, link, blind),
      ${ENTRY_OF_S},
      LATERAL (SELECT reply FROM vault.reply_subject WHERE blind = s.blind OFFSET 0) r))`,
});

const FIND_WRITTEN = `SELECT s.sequence FROM unnest($1::bigint[], $2::bytea[]) s (sequence, link), ${ENTRY_OF_S}`;
const INSERT = `INSERT INTO vault.audit (sequence, at, sealed, link)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[])`;
/** Returns a row if the row $1 exists with the link $2, or a prune has removed it. */
const IS_KEPT = `SELECT 1 FROM vault.audit WHERE sequence = $1 AND link = $2
    UNION ALL SELECT 1 WHERE (SELECT min(sequence) FROM vault.audit WHERE sequence > 0) > $1`;

export type EntryKey = Pick<Place, 'sequence' | 'link'>;

/** Resolves to the last entry, with its time. */
export async function readHead(run: Run) {
  const [[sequence, link, at] = []] = await run(HEAD_ROW.auditHead);
  return { sequence: storedNumber(sequence), link: storedBytes(link), at: storedNumber(at) };
}

/**
 * Resolves to the number of committed rows up to `head` that the database lacks, as after a failover that lost commits.
 */
export async function countLost(run: Run, { sequence, link }: AuditHead): Promise<number> {
  if ((await run(IS_KEPT, [sequence, link])).length > 0) return 0;
  // Another process may have written since.
  return Math.max(1, sequence - (await readHead(run)).sequence);
}

/** Returns the place of an entry after `head`. Throws the errors of the draft's `link`. */
export function placeAfter(head: AuditHead, draft: AuditDraft, isRemoval = false): Place {
  const { link: previous } = head;
  const sequence = head.sequence + 1;
  const { at, sealed } = draft;
  return { sequence, previous, at, sealed, link: draft.link(previous, sequence), draft, isRemoval };
}

/** Returns the statements that index the subjects of entries, and empty the replies to removed records. */
export function subjectStatements(entries: readonly Place[]): readonly Bound[] {
  const subjects = entries.flatMap(({ sequence, link, draft, isRemoval }) =>
    draft.subjects.map(({ n, blind }) => ({ sequence, link, blind: blindText(blind), n, isRemoval })),
  );
  const removed = subjects.filter(({ isRemoval }) => isRemoval);
  const added: Bound = [HEAD_ROW.addSubjects, listsOf(subjects, 'sequence', 'link', 'blind', 'n')];
  const emptied: Bound = [HEAD_ROW.emptyReplies, listsOf(removed, 'sequence', 'link', 'blind')];
  return [...(subjects.length > 0 ? [added] : []), ...(removed.length > 0 ? [emptied] : [])];
}

/** Returns a transaction that holds the lock of the audit, whose last entry is `head`. */
export function openTransaction(run: Run, head: AuditHead): Transaction {
  const entries: Place[] = [];

  async function append(drafts: readonly AuditDraft[], isRemoval?: boolean): Promise<AuditHead> {
    const from = entries.length;
    for (const draft of drafts) entries.push(placeAfter(entries.at(-1) ?? head, draft, isRemoval));
    const added = entries.slice(from);
    if (added.length > 0) {
      const inserted = run(INSERT, listsOf(added, 'sequence', 'at', 'sealed', 'link'));
      const indexed = subjectStatements(added).map(([statement, values]) => run(statement, values));
      await Promise.all([inserted, ...indexed]);
    }
    return entries.at(-1) ?? head;
  }

  return {
    run,
    entries,
    append: (...drafts) => append(drafts),
    async record(draft, isRemoval) {
      await append([draft], isRemoval);
      await insertReply(run, draft);
    },
  };
}

/** Resolves to the sequences of those entries that exist. */
export async function findWritten(run: Run, entries: readonly EntryKey[]): Promise<ReadonlySet<number>> {
  const rows = await run(FIND_WRITTEN, listsOf(entries, 'sequence', 'link'));
  return new Set(rows.map(([sequence]) => storedNumber(sequence)));
}
