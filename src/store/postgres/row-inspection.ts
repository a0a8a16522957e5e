import type { InspectedRecords } from '../../core/key-holder-ports.ts';
import type { Store } from '../../core/ports.ts';
import { decoded } from '../../core/problem.ts';
import { tombstoneColumns } from '../rows/record-columns.ts';
import { storedNumber, storedText } from '../rows/stored-value.ts';
import { APPLICATION_KEY_ROW, toApplicationKeyRecord } from './application-key-rows.ts';
import { APPLICATION_ROW, toApplicationRecord } from './application-rows.ts';
import { type Connections, INSPECT } from './connections.ts';
import { REPLY_ROW } from './reply-rows.ts';
import { type Row, storedList } from './sql-client.ts';
import { findNumber } from './tenant-number.ts';
import { TOKEN_COLUMNS, toTokenRecord } from './token-reads.ts';
import { storedBlind, uuid } from './uuid-text.ts';

/** Live tokens and tombstones share a table. */
function tokenRows(columns: string, test: string): string {
  return `SELECT id, ${columns} FROM vault.token t
    WHERE tenant = $1 AND id > $2 AND deleted_at IS ${test} ORDER BY t.id LIMIT $3`;
}

/** Selects all blind indexes of a token: those of its row, and the containers of its set. */
const BLINDS = `t.blinds || coalesce(
  (SELECT containers FROM vault.container_set s WHERE s.tenant = t.tenant AND s.number = t.set_number), '{}')`;
const TOMBSTONE = tombstoneColumns(uuid);

interface Reader<Inspected> {
  /** The query. Parameters: tenant, the last id or an empty text, limit. The first column is the id as a text. */
  readonly sql: string;
  /** Decodes the other columns. */
  decode(tenantId: string, row: Row): Inspected;
  indexesOf?(row: Row): readonly Uint8Array[];
}

const READERS: { readonly [Table in keyof InspectedRecords]: Reader<InspectedRecords[Table]> } = {
  token: {
    sql: tokenRows(`${TOKEN_COLUMNS}, ${BLINDS}`, 'NULL'),
    decode: toTokenRecord,
    indexesOf: (row) => storedList(row.at(-1)).map(storedBlind),
  },
  application: {
    sql: `SELECT a.id::text, ${APPLICATION_ROW.of('a')} FROM vault.application a
      WHERE a.tenant = $1 AND ($2 = '' OR a.id > nullif($2, '')::uuid) ORDER BY a.id LIMIT $3`,
    decode: toApplicationRecord,
  },
  application_key: {
    sql: `SELECT k.id::text, ${APPLICATION_KEY_ROW.of('k')} FROM vault.application_key k
      WHERE k.tenant = $1 AND ($2 = '' OR k.id > nullif($2, '')::uuid) ORDER BY k.id LIMIT $3`,
    decode: toApplicationKeyRecord,
  },
  tombstone: {
    sql: tokenRows(TOMBSTONE.of('t'), 'NOT NULL'),
    decode: (tenantId, row) => TOMBSTONE.readList(row, { tenant_id: tenantId }),
  },
  reply: {
    sql: `SELECT r.application_id || ' ' || encode(r.key_hash, 'hex'), ${REPLY_ROW.of('r')} FROM vault.reply r
      WHERE r.tenant = $1 AND ($2 = '' OR (r.application_id, r.key_hash)
        > (nullif(split_part($2, ' ', 1), '')::uuid, decode(split_part($2, ' ', 2), 'hex')))
      ORDER BY r.application_id, r.key_hash LIMIT $3`,
    decode: (tenantId, row) => REPLY_ROW.readList(row, { tenant_id: tenantId }),
  },
};

const HEAD = 'SELECT max(sequence) FROM vault.audit';
const REVISIONS = { token: tokenRows('revision', 'NULL'), tombstone: tokenRows('1', 'NOT NULL') };

/** Returns the functions that read a tenant's rows after the id `after`, in order of id. */
export function rowInspection({ inspectSnapshot }: Pick<Connections, 'inspectSnapshot'>) {
  return {
    inspectRows: (table, tenantId, after, limit) =>
      inspectSnapshot(async (run) => {
        const [, found] = await Promise.all([run(INSPECT), findNumber(run, tenantId)]);
        if (found === undefined) return [];
        const { sql, decode, indexesOf } = READERS[table];
        const rows = await run(sql, [found.tenant, after, limit]);
        return rows.map(([id, ...row]) => ({
          id: storedText(id),
          record: decoded(() => decode(tenantId, row)),
          indexes: decoded(() => indexesOf?.(row)) ?? [],
        }));
      }),

    revisionsOf: (table, tenantId, after, limit) =>
      inspectSnapshot(async (run) => {
        const [, [head], found] = await Promise.all([run(INSPECT), run(HEAD), findNumber(run, tenantId)]);
        const rows = found === undefined ? [] : await run(REVISIONS[table], [found.tenant, after, limit]);
        return {
          head: storedNumber(head?.[0]),
          rows: rows.map(([id, revision]) => ({ id: storedText(id), revision: storedNumber(revision) })),
        };
      }),
  } satisfies Partial<Store>;
}
