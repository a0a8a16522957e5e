import type { AuditEntry } from '../../core/audit/ports.ts';
import { isError } from '../../core/error-code.ts';
import { Fault } from '../../core/fault.ts';
import type { Store } from '../../core/ports.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import { appending, readHead } from './audit-head.ts';
import type { Connections, LaneMember } from './connections.ts';
import { NOT_ALLOWED, PgError } from './pg-error.ts';
import { firstValue, listsOf, type Row } from './sql-client.ts';
import { blindText } from './uuid-text.ts';

const APPENDING: LaneMember<void> = {
  written: undefined,
  statements: (drafts) => (drafts.length === 0 ? [] : [appending(drafts)]),
  read: () => ({ hasChanged: true, result: undefined }),
};

const READ = `SELECT sequence, at, sealed, link FROM vault.audit WHERE sequence > $1 AND sequence > 0
    ORDER BY sequence LIMIT $2`;
const FIND_LAST = `SELECT s.sequence, s.n FROM unnest($1::uuid[]) w (blind),
      LATERAL (SELECT sequence, n FROM vault.audit_subject
        WHERE blind = w.blind AND sequence <= $2 ORDER BY sequence DESC, n DESC LIMIT 1) s
    ORDER BY s.sequence DESC, s.n DESC LIMIT 1`;
/** Selects the sequences of the wanted rows that an index lacks. */
const missingIn = (table: 'audit_index' | 'audit_subject', condition: string) =>
  `SELECT DISTINCT w.sequence FROM unnest($1::bigint[], $2::uuid[], $3::integer[]) w (sequence, blind, n)
    LEFT JOIN LATERAL (SELECT true AS found FROM vault.${table}
      WHERE blind = w.blind AND sequence = w.sequence AND ${condition} OFFSET 0) s ON true
    WHERE s.found IS NULL`;
const FIND_UNINDEXED = missingIn('audit_subject', 'n = w.n');
const FIND_UNLOGGED = missingIn('audit_index', 'w.n IS NULL');
const counting = (table: 'audit_index' | 'audit_subject') => `SELECT count(*) FROM vault.${table} WHERE sequence <= $1`;
const LOG_END = 'SELECT logged FROM vault.head';
/** Selects nothing if a prune has removed the row `$1` since the caller read it. */
const LOG_END_WITH_ROW = 'SELECT logged FROM vault.head, vault.audit WHERE sequence = $1';
const SET_LOG_END = 'UPDATE vault.head SET logged = $1 WHERE logged < $1';
const INDEX_LOG = `INSERT INTO vault.audit_index (blind, sequence)
    SELECT blind, sequence FROM unnest($1::bigint[], $2::uuid[]) w (sequence, blind) ON CONFLICT DO NOTHING`;
/** Returns a query of `table`: for each blind index in `$1`, the newest `$3` sequences before `$2`. */
function loggedIn(table: 'audit_index' | 'audit_subject'): string {
  return `SELECT l.sequence FROM unnest($1::uuid[]) w (blind), LATERAL (SELECT DISTINCT sequence FROM vault.${table}
    WHERE blind = w.blind AND sequence < $2 ORDER BY sequence DESC LIMIT $3) l`;
}
const FIND_LOGGED = `SELECT sequence FROM (${loggedIn('audit_index')} UNION ${loggedIn('audit_subject')}) found
    ORDER BY sequence DESC LIMIT $3`;

const PRUNE = 'DELETE FROM vault.audit WHERE sequence BETWEEN $1 AND $2';
const PRUNE_INDEXES = ['audit_subject', 'audit_index'].map(
  (table) => `DELETE FROM vault.${table} WHERE sequence BETWEEN $1 AND $2 AND blind = ANY ($3::uuid[])`,
);
/** Moves the end of the log index back to the last row. */
const SHORTEN_LOG = `UPDATE vault.head SET logged = (SELECT coalesce(max(sequence), 0) FROM vault.audit)
    WHERE logged > (SELECT coalesce(max(sequence), 0) FROM vault.audit)`;

/** Decodes a row of `audit`. Replaces an invalid time with 0, so that the link breaks at this entry. */
function toEntry([sequence, at, sealed, link]: Row): AuditEntry {
  return {
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
export function auditMethods({ read, readSlow, change, changeTokens, join, knownEnd }: Connections) {
  return {
    knownEnd,
    async appendAudit(drafts) {
      const [audit] = drafts;
      if (drafts.length === 1) await join({ ...APPENDING, audit });
      else await changeTokens(({ append }) => append(...drafts));
    },
    readAudit: async (after, limit) => (await readSlow(READ, [after, limit])).map(toEntry),
    auditHead: () => readHead(read),

    async findAudited(subjects, before) {
      const [place] = await read(FIND_LAST, [subjects.map(blindText), before]);
      return place && { sequence: storedNumber(place[0]), n: storedNumber(place[1]) };
    },

    async findUnindexed(places) {
      const all = places.flatMap(({ sequence, subjects }) =>
        subjects.map(({ n, blind }) => ({ sequence, blind: blindText(blind), n })),
      );
      return missingOf(places, await readSlow(FIND_UNINDEXED, listsOf(all, 'sequence', 'blind', 'n')));
    },

    countAuditIndex: async (upTo) => storedNumber(firstValue(await readSlow(counting('audit_subject'), [upTo]))),

    logIndexEnd: async () => storedNumber(firstValue(await read(LOG_END))),

    indexLog: (rows, from, end) =>
      change(async ({ run }) => {
        const covered = storedNumber(firstValue(await run(LOG_END_WITH_ROW, [end])) ?? -1);
        if (from > covered) return;
        const added = run(INDEX_LOG, pairs(rows));
        await Promise.all([added, ...(end > covered ? [run(SET_LOG_END, [end])] : [])]);
      }),

    async findLogged(blinds, before, limit) {
      const rows = await readSlow(FIND_LOGGED, [blinds.map(blindText), before, limit]);
      return rows.map(([sequence]) => storedNumber(sequence));
    },

    async findUnlogged(rows) {
      return missingOf(rows, await readSlow(FIND_UNLOGGED, [...pairs(rows), null]));
    },

    countLogIndex: async (upTo) => storedNumber(firstValue(await readSlow(counting('audit_index'), [upTo]))),

    /** Rejects with the fault `store_refused` if the role neither owns the tables nor has the privilege DELETE. */
    pruneAudit: (first, last, blinds) =>
      change(async ({ run }) => {
        const texts = blinds.map(blindText);
        await Promise.all([
          ...PRUNE_INDEXES.map((statement) => run(statement, [first, last, texts])),
          run(PRUNE, [first, last]),
          run(SHORTEN_LOG),
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
