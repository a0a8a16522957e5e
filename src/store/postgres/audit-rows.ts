import type { AuditEntry } from '../../core/audit/ports.ts';
import { isError } from '../../core/error-code.ts';
import { Fault } from '../../core/fault.ts';
import type { Store } from '../../core/ports.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import { headsWhere, readHead, toHead } from './audit-chain.ts';
import { type Connections, type LaneMember, placeParameters } from './connections.ts';
import { NOT_ALLOWED, PgError } from './pg-error.ts';
import { firstValue, listsOf, type Row, type Statement } from './sql-client.ts';
import { entriesOf, givenIn, HEAD } from './token-statements.ts';
import { blindText } from './uuid-text.ts';

/** Parameters: place. Returns whether the place is free. */
const APPEND: Statement = {
  name: 'appendAudit',
  text: `WITH ${HEAD}, ${givenIn(7)}, ${entriesOf('(SELECT place FROM given, head) g')} SELECT count(*) FROM head`,
};
const APPENDING: LaneMember<void> = {
  written: undefined,
  statements: (chain, places) => (places.length === 0 ? [] : [[APPEND, placeParameters(chain, places)]]),
  read: ([rows]) => (rows === undefined || rows[0]?.[0] === 1 ? { hasChanged: true, result: undefined } : undefined),
};

const READ = `SELECT sequence, at, sealed, link FROM vault.audit WHERE chain = $1 AND sequence > $2
      AND (sequence > 0 OR chain > 0) ORDER BY sequence LIMIT $3`;
const HEADS = headsWhere('true');
const FIND_LAST = `SELECT DISTINCT ON (c.chain) c.chain, s.sequence, s.n FROM vault.chain c, unnest($1::uuid[]) w (blind),
      LATERAL (SELECT sequence, n FROM vault.audit_subject
        WHERE blind = w.blind AND chain = c.chain AND sequence <= $2 ORDER BY sequence DESC, n DESC LIMIT 1) s
    ORDER BY c.chain, s.sequence DESC, s.n DESC`;
/** Selects the sequences of the wanted rows that an index lacks. */
const missingIn = (table: 'audit_index' | 'audit_subject', condition: string) =>
  `SELECT DISTINCT w.sequence FROM unnest($2::bigint[], $3::uuid[], $4::integer[]) w (sequence, blind, n)
    LEFT JOIN LATERAL (SELECT true AS found FROM vault.${table}
      WHERE blind = w.blind AND chain = $1 AND sequence = w.sequence AND ${condition} OFFSET 0) s ON true
    WHERE s.found IS NULL`;
const FIND_UNINDEXED = missingIn('audit_subject', 'n = w.n');
const FIND_UNLOGGED = missingIn('audit_index', 'w.n IS NULL');
const counting = (table: 'audit_index' | 'audit_subject') =>
  `SELECT count(*) FROM vault.${table} WHERE chain = $1 AND sequence <= $2`;
const LOG_END = 'SELECT logged FROM vault.chain WHERE chain = $1';
/** Selects nothing if a prune has removed the row `$2` since the caller read it. */
const LOG_END_WITH_ROW =
  'SELECT logged FROM vault.chain JOIN vault.audit USING (chain) WHERE chain = $1 AND sequence = $2';
const SET_LOG_END = 'UPDATE vault.chain SET logged = $2 WHERE chain = $1 AND logged < $2';
const INDEX_LOG = `INSERT INTO vault.audit_index (blind, chain, sequence)
    SELECT blind, $1, sequence FROM unnest($2::bigint[], $3::uuid[]) w (sequence, blind) ON CONFLICT DO NOTHING`;
/** Returns a query of `table`: for each blind index in `$2`, the newest `$4` sequences of the chain before `$3`. */
function loggedIn(table: 'audit_index' | 'audit_subject'): string {
  return `SELECT l.sequence FROM unnest($2::uuid[]) w (blind), LATERAL (SELECT DISTINCT sequence FROM vault.${table}
    WHERE blind = w.blind AND chain = $1 AND sequence < $3 ORDER BY sequence DESC LIMIT $4) l`;
}
const FIND_LOGGED = `SELECT sequence FROM (${loggedIn('audit_index')} UNION ${loggedIn('audit_subject')}) found
    ORDER BY sequence DESC LIMIT $4`;

const PRUNE = 'DELETE FROM vault.audit WHERE chain = $1 AND sequence BETWEEN $2 AND $3';
const PRUNE_INDEXES = ['audit_subject', 'audit_index'].map(
  (table) => `DELETE FROM vault.${table} WHERE chain = $1 AND sequence BETWEEN $2 AND $3 AND blind = ANY ($4::uuid[])`,
);
/** Moves the end of the log index back to the last row of the chain. */
const SHORTEN_LOG = `UPDATE vault.chain SET logged = least(logged,
      (SELECT coalesce(max(sequence), 0) FROM vault.audit WHERE chain = $1)) WHERE chain = $1`;

/** Decodes a row of `audit`. Replaces an invalid time with 0, so that the chain breaks at this entry. */
function toEntry(chain: string, [sequence, at, sealed, link]: Row): AuditEntry {
  return {
    chain,
    sequence: storedNumber(sequence),
    at: Number.isSafeInteger(at) ? storedNumber(at) : 0,
    sealed: storedBytes(sealed),
    link: storedBytes(link),
  };
}

/** Returns the lists of the sequences and the blind indexes of the rows, with an element for each blind index. */
function pairs(rows: readonly { readonly sequence: number; readonly blinds: readonly Uint8Array[] }[]) {
  const all = rows.flatMap(({ sequence, blinds }) => blinds.map((blind) => ({ sequence, blind: blindText(blind) })));
  return listsOf(all, 'sequence', 'blind');
}

/** Returns the sequences of `expected` that are in `missing`, in their order. */
function missingOf(expected: readonly { readonly sequence: number }[], missing: readonly Row[]): readonly number[] {
  const found = new Set(missing.map(([sequence]) => storedNumber(sequence)));
  return expected.map(({ sequence }) => sequence).filter((sequence) => found.has(sequence));
}

/** Returns the functions for the tables of the audit. Changes append their own entries. */
export function auditMethods({ read, readSlow, change, changeTokens, join, useRecorder }: Connections) {
  return {
    async appendAudit(drafts) {
      const [audit] = drafts;
      if (drafts.length === 1) await join({ ...APPENDING, audit });
      else await changeTokens(({ append }) => append(...drafts));
    },
    useChainRecorder: useRecorder,
    readAudit: async (chain, after, limit) =>
      (await readSlow(READ, [chain, after, limit])).map((row) => toEntry(chain, row)),
    auditHead: (chain) => readHead(read, chain),

    async auditHeads() {
      const rows = await readSlow(HEADS);
      return rows.map((row) => ({ ...toHead(row), at: storedNumber(row[3]) }));
    },

    async findAudited(subjects, before) {
      const rows = await read(FIND_LAST, [subjects.map(blindText), before]);
      return rows.map(([chain, sequence, n]) => ({
        chain: String(storedNumber(chain)),
        sequence: storedNumber(sequence),
        n: storedNumber(n),
      }));
    },

    async findUnindexed(chain, places) {
      const all = places.flatMap(({ sequence, subjects }) =>
        subjects.map(({ n, blind }) => ({ sequence, blind: blindText(blind), n })),
      );
      return missingOf(places, await readSlow(FIND_UNINDEXED, [chain, ...listsOf(all, 'sequence', 'blind', 'n')]));
    },

    countAuditIndex: async (chain, upTo) =>
      storedNumber(firstValue(await readSlow(counting('audit_subject'), [chain, upTo]))),

    logIndexEnd: async (chain) => storedNumber(firstValue(await read(LOG_END, [chain]))),

    indexLog: (chain, rows, from, end) =>
      change(async ({ run }) => {
        const covered = storedNumber(firstValue(await run(LOG_END_WITH_ROW, [chain, end])) ?? -1);
        if (from > covered) return;
        const added = run(INDEX_LOG, [chain, ...pairs(rows)]);
        await Promise.all([added, ...(end > covered ? [run(SET_LOG_END, [chain, end])] : [])]);
      }),

    async findLogged(chain, blinds, before, limit) {
      const rows = await readSlow(FIND_LOGGED, [chain, blinds.map(blindText), before, limit]);
      return rows.map(([sequence]) => storedNumber(sequence));
    },

    async findUnlogged(chain, rows) {
      return missingOf(rows, await readSlow(FIND_UNLOGGED, [chain, ...pairs(rows), null]));
    },

    countLogIndex: async (chain, upTo) =>
      storedNumber(firstValue(await readSlow(counting('audit_index'), [chain, upTo]))),

    /** Rejects with the fault `store_refused` if the role neither owns the tables nor has the privilege DELETE. */
    pruneAudit: (chain, first, last, blinds) =>
      change(async ({ run }) => {
        const texts = blinds.map(blindText);
        await Promise.all([
          ...PRUNE_INDEXES.map((statement) => run(statement, [chain, first, last, texts])),
          run(PRUNE, [chain, first, last]),
          run(SHORTEN_LOG, [chain]),
        ]);
      }).catch((error: unknown) => {
        const isRefused = isError(error) && error.cause instanceof PgError && error.cause.code === NOT_ALLOWED;
        if (!isRefused) throw error;
        throw new Fault('store_refused', 'the role of the database may not remove entries of the audit', {
          hint: 'run `vault audit prune` as the owner of the tables; it completes this prune',
          cause: error,
        });
      }),
  } satisfies Partial<Store>;
}
