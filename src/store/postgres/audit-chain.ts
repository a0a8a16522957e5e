import type { AuditDraft, AuditHead } from '../../core/audit/ports.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import type { Bound, Place, Run, Transaction } from './connections.ts';
import { insertReply } from './reply-rows.ts';
import { listsOf, NOW, named, type Row } from './sql-client.ts';
import { blindText } from './uuid-text.ts';

/** The entry of the chain with the sequence and the link of the row `s`. */
const ENTRY_OF_S =
  'LATERAL (SELECT 1 FROM vault.audit WHERE chain = $1 AND sequence = s.sequence AND link = s.link OFFSET 0) a';

export const CHAIN = named({
  /** Fails with 22012 (division by zero) if the chain is missing or closed. */
  lockLane: `SELECT 1 / count(*) AS open FROM
    (SELECT 1 FROM vault.chain WHERE chain = $1 AND closed_at IS NULL FOR UPDATE) c`,
  /** Waits for the transaction that holds the lock of the chain. */
  closeChain: `UPDATE vault.chain SET closed_at = coalesce(closed_at, ${NOW}) WHERE chain = $1`,
  auditHead: 'SELECT chain, sequence, link FROM vault.audit WHERE chain = $1 ORDER BY sequence DESC LIMIT 1',
  /** Parameters: the chain; lists of sequences, links, blind indexes and their numbers. Skips missing entries. */
  addSubjects: `INSERT INTO vault.audit_subject (blind, chain, sequence, n) SELECT s.blind, $1, s.sequence, s.n
    FROM unnest($2::bigint[], $3::bytea[], $4::uuid[], $5::integer[]) s (sequence, link, blind, n),
      ${ENTRY_OF_S}
    ON CONFLICT DO NOTHING`,
  /** Parameters: the chain; lists of the sequences and links of removals, and the blind indexes of their records. */
  emptyReplies: `UPDATE vault.reply SET sealed = '' WHERE reply = ANY (ARRAY(SELECT r.reply
    FROM unnest($2::bigint[], $3::bytea[], $4::uuid[]) s (sequence, link, blind),
      ${ENTRY_OF_S},
      LATERAL (SELECT reply FROM vault.reply_subject WHERE blind = s.blind OFFSET 0) r))`,
});

export const LOCK_OPEN_CHAINS = 'SELECT 1 FROM vault.chain WHERE closed_at IS NULL ORDER BY chain FOR UPDATE';

const FIND_WRITTEN = `SELECT s.sequence FROM unnest($2::bigint[], $3::bytea[]) s (sequence, link), ${ENTRY_OF_S}`;
const INSERT = `INSERT INTO vault.audit (chain, sequence, at, sealed, link)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])`;

export type EntryKey = Pick<Place, 'sequence' | 'link'>;

/** Returns the query for the last row of each chain that meets the condition: the columns of `toHead`, and the time. */
export function headsWhere(condition: string): string {
  return `SELECT c.chain, h.sequence, h.link, h.at FROM vault.chain c,
      LATERAL (SELECT sequence, link, at FROM vault.audit WHERE chain = c.chain ORDER BY sequence DESC LIMIT 1) h
    WHERE ${condition} ORDER BY c.chain`;
}

/** Decodes a row that begins with a chain and the sequence and link of its last entry. */
export function toHead([chain, sequence, link]: Row): AuditHead {
  return { chain: String(storedNumber(chain)), sequence: storedNumber(sequence), link: storedBytes(link) };
}

/** Resolves to the last entry of a chain. */
export async function readHead(run: Run, chain: string): Promise<AuditHead> {
  const [row = []] = await run(CHAIN.auditHead, [chain]);
  return toHead(row);
}

/** Returns the place of an entry after `head`. Throws the errors of the draft's `link`. */
export function placeAfter(head: AuditHead, draft: AuditDraft, isRemoval = false): Place {
  const { chain, link: previous } = head;
  const sequence = head.sequence + 1;
  const { at, sealed } = draft;
  return { chain, sequence, previous, at, sealed, link: draft.link(previous, sequence), draft, isRemoval };
}

/** Returns the statements that index the subjects of a chain's entries, and empty the replies to removed records. */
export function subjectStatements(entries: readonly Place[]): readonly Bound[] {
  const subjects = entries.flatMap(({ sequence, link, draft, isRemoval }) =>
    draft.subjects.map(({ n, blind }) => ({ sequence, link, blind: blindText(blind), n, isRemoval })),
  );
  const removed = subjects.filter(({ isRemoval }) => isRemoval);
  const chain = entries[0]?.chain;
  const added: Bound = [CHAIN.addSubjects, [chain, ...listsOf(subjects, 'sequence', 'link', 'blind', 'n')]];
  const emptied: Bound = [CHAIN.emptyReplies, [chain, ...listsOf(removed, 'sequence', 'link', 'blind')]];
  return [...(subjects.length > 0 ? [added] : []), ...(removed.length > 0 ? [emptied] : [])];
}

/** Returns a transaction that holds the lock of the chain, whose last entry is `head`. */
export function openTransaction(run: Run, head: AuditHead): Transaction {
  const entries: Place[] = [];

  async function append(drafts: readonly AuditDraft[], isRemoval?: boolean): Promise<AuditHead> {
    const from = entries.length;
    for (const draft of drafts) entries.push(placeAfter(entries.at(-1) ?? head, draft, isRemoval));
    const added = entries.slice(from);
    if (added.length > 0) {
      const inserted = run(INSERT, [head.chain, ...listsOf(added, 'sequence', 'at', 'sealed', 'link')]);
      const indexed = subjectStatements(added).map(([statement, values]) => run(statement, values));
      await Promise.all([inserted, ...indexed]);
    }
    return entries.at(-1) ?? head;
  }

  return {
    run,
    chain: head.chain,
    entries,
    append: (...drafts) => append(drafts),
    async record(draft, isRemoval) {
      await append([draft], isRemoval);
      await insertReply(run, draft);
    },
  };
}

/**
 * Waits for the writes of all processes; later ones wait for this transaction. Call it under the lock of the root, so
 * that it sees all earlier chains. Limits the wait, because a process that hangs keeps the lock of its chain.
 */
export async function lockOpenChains(run: Run): Promise<void> {
  await Promise.all([run("SET LOCAL lock_timeout TO '1s'"), run(LOCK_OPEN_CHAINS)]);
}

/** Resolves to the sequences of those entries that exist in a chain. */
export async function findWritten(run: Run, chain: string, entries: readonly EntryKey[]): Promise<ReadonlySet<number>> {
  const rows = await run(FIND_WRITTEN, [chain, ...listsOf(entries, 'sequence', 'link')]);
  return new Set(rows.map(([sequence]) => storedNumber(sequence)));
}
