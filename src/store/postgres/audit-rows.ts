import type { AuditEntry, AuditStore } from '../../core/audit/ports.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import { ROOT_CHAIN, readHead } from './audit-chain.ts';
import type { Connections } from './connections.ts';
import type { Row, Statement } from './sql-client.ts';
import { blindText } from './uuid-text.ts';

const READ: Statement = {
  text: `SELECT sequence, at, sealed, link FROM vault.audit WHERE chain = $1 AND sequence > $2 AND sequence > 0
    ORDER BY sequence LIMIT $3`,
};
const FIND_LAST: Statement = {
  text: `SELECT s.sequence, s.n FROM unnest($2::uuid[]) w (blind), LATERAL (SELECT sequence, n FROM vault.audit_subject
      WHERE blind = w.blind AND chain = $1 AND sequence <= $3 ORDER BY sequence DESC, n DESC LIMIT 1) s
    ORDER BY s.sequence DESC, s.n DESC LIMIT 1`,
};
const FIND_UNINDEXED: Statement = {
  text: `SELECT DISTINCT w.sequence FROM unnest($2::bigint[], $3::uuid[], $4::integer[]) w (sequence, blind, n)
    LEFT JOIN LATERAL (SELECT true AS found FROM vault.audit_subject
      WHERE blind = w.blind AND chain = $1 AND sequence = w.sequence AND n = w.n OFFSET 0) s ON true
    WHERE s.found IS NULL`,
};
const COUNT_INDEX: Statement = {
  text: 'SELECT count(*) FROM vault.audit_subject WHERE chain = $1 AND sequence <= $2',
};

const LOG_END: Statement = { text: 'SELECT logged FROM vault.chain WHERE chain = $1' };
const SET_LOG_END: Statement = { text: 'UPDATE vault.chain SET logged = $2 WHERE chain = $1' };
const INDEX_LOG: Statement = {
  text: `INSERT INTO vault.audit_index (blind, chain, sequence)
    SELECT blind, $1, sequence FROM unnest($2::bigint[], $3::uuid[]) w (sequence, blind) ON CONFLICT DO NOTHING`,
};
/** The newest sequences of one index with the blind index of the row `w`. */
function loggedIn(table: 'audit_index' | 'audit_subject'): string {
  return `SELECT l.sequence FROM unnest($2::uuid[]) w (blind), LATERAL (SELECT DISTINCT sequence FROM vault.${table}
    WHERE blind = w.blind AND chain = $1 AND sequence < $3 ORDER BY sequence DESC LIMIT $4) l`;
}
const FIND_LOGGED: Statement = {
  text: `SELECT sequence FROM (${loggedIn('audit_index')} UNION ${loggedIn('audit_subject')}) found
    ORDER BY sequence DESC LIMIT $4`,
};
const FIND_UNLOGGED: Statement = {
  text: `SELECT DISTINCT w.sequence FROM unnest($2::bigint[], $3::uuid[]) w (sequence, blind)
    LEFT JOIN LATERAL (SELECT true AS found FROM vault.audit_index
      WHERE blind = w.blind AND chain = $1 AND sequence = w.sequence OFFSET 0) s ON true
    WHERE s.found IS NULL`,
};
const COUNT_LOG: Statement = { text: 'SELECT count(*) FROM vault.audit_index WHERE chain = $1 AND sequence <= $2' };

/** Replaces a time of a damaged row that the table does not allow, so that the chain breaks at this entry. */
function toEntry([sequence, at, sealed, link]: Row): AuditEntry {
  return {
    sequence: storedNumber(sequence),
    at: Number.isSafeInteger(at) ? storedNumber(at) : 0,
    sealed: storedBytes(sealed),
    link: storedBytes(link),
  };
}

/** Returns the columns of rows that have several blind indexes: each blind index with the sequence of its row. */
function pairs(rows: readonly { readonly sequence: number; readonly blinds: readonly Uint8Array[] }[]) {
  const all = rows.flatMap(({ sequence, blinds }) => blinds.map((blind) => ({ sequence, blind: blindText(blind) })));
  return [all.map(({ sequence }) => sequence), all.map(({ blind }) => blind)] as const;
}

/** Returns the sequences of `expected` that are in `missing`, in their order. */
function missingOf(expected: readonly { readonly sequence: number }[], missing: readonly Row[]): readonly number[] {
  const found = new Set(missing.map(([sequence]) => storedNumber(sequence)));
  return expected.map(({ sequence }) => sequence).filter((sequence) => found.has(sequence));
}

function countOf([row]: readonly Row[]): number {
  return storedNumber(row?.[0]);
}

/** Returns the functions for the tables `audit`, `audit_subject` and `audit_index`. Changes append their own entries. */
export function auditMethods({ read, readSlow, change }: Connections): AuditStore {
  return {
    appendAudit: (drafts) => change(({ append }) => append(...drafts)),
    readAudit: async (after, limit) => (await readSlow(READ, [ROOT_CHAIN, after, limit])).map(toEntry),
    auditHead: async () => readHead(read),

    async findAudited(subjects, before) {
      const [row] = await read(FIND_LAST, [ROOT_CHAIN, subjects.map(blindText), before]);
      return row && { sequence: storedNumber(row[0]), n: storedNumber(row[1]) };
    },

    async findUnindexed(places) {
      const all = places.flatMap(({ sequence, subjects }) => subjects.map((subject) => ({ sequence, ...subject })));
      const missing = await readSlow(FIND_UNINDEXED, [
        ROOT_CHAIN,
        all.map(({ sequence }) => sequence),
        all.map(({ blind }) => blindText(blind)),
        all.map(({ n }) => n),
      ]);
      return missingOf(places, missing);
    },

    countAuditIndex: async (upTo) => countOf(await readSlow(COUNT_INDEX, [ROOT_CHAIN, upTo])),

    logIndexEnd: async () => countOf(await read(LOG_END, [ROOT_CHAIN])),

    indexLog: (rows, from, end) =>
      change(async ({ run }) => {
        const covered = countOf(await run(LOG_END, [ROOT_CHAIN]));
        if (from > covered) return;
        const added = run(INDEX_LOG, [ROOT_CHAIN, ...pairs(rows)]);
        await Promise.all([added, ...(end > covered ? [run(SET_LOG_END, [ROOT_CHAIN, end])] : [])]);
      }),

    async findLogged(blinds, before, limit) {
      const rows = await readSlow(FIND_LOGGED, [ROOT_CHAIN, blinds.map(blindText), before, limit]);
      return rows.map(([sequence]) => storedNumber(sequence));
    },

    async findUnlogged(rows) {
      return missingOf(rows, await readSlow(FIND_UNLOGGED, [ROOT_CHAIN, ...pairs(rows)]));
    },

    countLogIndex: async (upTo) => countOf(await readSlow(COUNT_LOG, [ROOT_CHAIN, upTo])),
  };
}
