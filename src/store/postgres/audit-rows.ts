import { isSameBytes } from '../../core/bytes.ts';
import { Fault, isError } from '../../core/fault.ts';
import type { Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { LOSSES, type Loss } from '../rows/channels.ts';
import type { Row } from '../rows/store-steps.ts';
import { readable, storedBytes, storedNumber } from '../rows/stored-value.ts';
import { appending, readHead, readRows, toEntry } from './audit-head.ts';
import type { Connections, QueuedWrite } from './connections.ts';
import { NOT_ALLOWED, PgError } from './pg-error.ts';
import { firstValue, listsOf, type Statement, storedList } from './sql-client.ts';
import { blindText, storedUuid } from './uuid-text.ts';

const APPENDING: QueuedWrite<void> = {
  written: undefined,
  statements: (drafts) => (drafts.length === 0 ? [] : [appending(drafts)]),
  read: () => ({ hasChanged: true, result: undefined }),
};

/** Selects the rows after `$1`, and whether the vault was moved away. Every API call runs this statement. */
const FOLLOW: Statement = {
  name: 'followAudit',
  text: `SELECT f.format < 0, a.sequence, a.at, a.sealed, a.link FROM vault.format f
    LEFT JOIN LATERAL (SELECT * FROM vault.audit WHERE sequence > $1 ORDER BY sequence LIMIT $2) a ON true`,
};
const TAIL = `SELECT sequence, at, sealed, link FROM (SELECT * FROM vault.audit
    ORDER BY sequence DESC LIMIT $1) a ORDER BY sequence`;
const MAC = 'SELECT mac FROM vault.header';
const TENANTS = `SELECT n.id, n.revision, array(SELECT key_id FROM vault.tenant_key k WHERE k.tenant = n.tenant)
    FROM vault.tenant n`;
/** Selects all rows of a table: tenant, id, revision. */
const everyRevision = (table: 'application' | 'application_key') =>
  `SELECT n.id, a.id, a.revision FROM vault.${table} a JOIN vault.tenant n ON n.tenant = a.tenant`;
/** Selects the sequences of the wanted rows that the log index lacks. */
const FIND_UNLOGGED = `SELECT DISTINCT w.sequence FROM unnest($1::bigint[], $2::uuid[]) w (sequence, blind)
    LEFT JOIN LATERAL (SELECT true AS found FROM vault.audit_index
      WHERE blind = w.blind AND sequence = w.sequence OFFSET 0) s ON true
    WHERE s.found IS NULL ORDER BY w.sequence`;
const COUNT_LOGGED = 'SELECT count(*) FROM vault.audit_index WHERE sequence <= $1';
const LOG_END = 'SELECT logged FROM vault.head';
/** Selects nothing if a prune has removed the row `$1` since the caller read it. */
const LOG_END_WITH_ROW = 'SELECT logged FROM vault.head, vault.audit WHERE sequence = $1';
const SET_LOG_END = 'UPDATE vault.head SET logged = $1 WHERE logged < $1';
const INDEX_LOG = `INSERT INTO vault.audit_index (blind, sequence)
    SELECT blind, sequence FROM unnest($1::bigint[], $2::uuid[]) w (sequence, blind)
    WHERE sequence > (SELECT min(sequence) FROM vault.audit) ON CONFLICT DO NOTHING`;
const FIND_LOGGED = `SELECT DISTINCT l.sequence FROM unnest($1::uuid[]) w (blind),
    LATERAL (SELECT sequence FROM vault.audit_index WHERE blind = w.blind AND sequence < $2 ORDER BY sequence DESC LIMIT $3) l
    ORDER BY l.sequence DESC LIMIT $3`;

const BASE = '(SELECT min(sequence) FROM vault.audit)';
const FIRST = `SELECT sequence, link FROM vault.audit WHERE sequence = ${BASE}`;
const PRUNE = 'DELETE FROM vault.audit WHERE sequence < $1';
const UNLOG = 'DELETE FROM vault.audit_index WHERE sequence <= $1 AND blind = ANY ($2::uuid[])';
const REPLACE_BASE = 'UPDATE vault.audit SET sealed = $1 WHERE sequence = $2';

/** Returns the lists of the sequences and the blind indexes of the rows, with an element for each blind index. */
function pairs(rows: readonly { readonly sequence: number; readonly blinds: readonly Uint8Array[] }[]) {
  const all = rows.flatMap(({ sequence, blinds }) => blinds.map((blind) => ({ sequence, blind: blindText(blind) })));
  return listsOf(all, 'sequence', 'blind');
}

/** Returns the functions for the tables of the audit. Changes append their own entries. */
export function auditMethods({ read, readSlow, readSnapshot, change, join }: Connections) {
  return {
    async appendAudit(drafts) {
      const [audit] = drafts;
      if (drafts.length === 1) await join({ ...APPENDING, audit });
      else await change(({ append }) => append(...drafts));
    },
    appendAuthority: (draft) => change(({ record }) => record(draft)),
    readAudit: (after, limit) => readRows(readSlow, after, limit),
    auditHead: () => readHead(read),

    async followAudit(after, limit) {
      const rows = await read(FOLLOW, [after, limit]);
      if (rows[0]?.[0] === true) throw new Problem('vault_moved', { retryAfter: 1 });
      return rows.filter(([, sequence]) => sequence !== null).map(([, ...row]) => toEntry(row));
    },

    scanAuthority: (limit) =>
      readSnapshot(async (run) => {
        const [rows, mac, tenants, applications, keys] = await Promise.all([
          run(TAIL, [limit]),
          run(MAC),
          run(TENANTS),
          run(everyRevision('application')),
          run(everyRevision('application_key')),
        ]);
        return {
          rows: rows.map(toEntry),
          mac: storedBytes(firstValue(mac)),
          tenants: readable(tenants, ([id, revision, own]) => ({
            id: storedUuid(id),
            revision: storedNumber(revision),
            keys: storedList(own).map(storedNumber),
          })),
          applications: readable(applications, toRevision),
          keys: readable(keys, toRevision),
        };
      }),

    acceptLoss: (missing) => LOSSES.publish({ missing } satisfies Loss),

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
      return (await readSlow(FIND_UNLOGGED, pairs(rows))).map(([sequence]) => storedNumber(sequence));
    },

    countLogIndex: async (upTo) => storedNumber(firstValue(await readSlow(COUNT_LOGGED, [upTo]))),

    /** Rejects with the fault `store_refused` if the role neither owns the tables nor has the privilege DELETE. */
    moveBase: (from, { sequence, sealed }, blinds) =>
      change(async ({ run }) => {
        const [[first, link] = []] = await run(FIRST);
        if (first !== from.sequence || !isSameBytes(storedBytes(link), from.link)) return false;
        await Promise.all([
          run(UNLOG, [sequence, blinds.map(blindText)]),
          run(PRUNE, [sequence]),
          run(REPLACE_BASE, [sealed, sequence]),
        ]);
        return true;
      }).catch((error: unknown) => {
        const isRefused = isError(error) && error.cause instanceof PgError && error.cause.code === NOT_ALLOWED;
        if (!isRefused) throw error;
        throw new Fault('store_refused', 'the role of the database may not remove entries of the audit', {
          hint: 'run `vault audit prune` as the owner of the tables',
          cause: error,
        });
      }),
  } satisfies Partial<Store>;
}

function toRevision([tenant_id, id, revision]: Row) {
  return { tenant_id: storedUuid(tenant_id), id: storedUuid(id), revision: storedNumber(revision) };
}
