import type { InspectedRecords } from '../../core/maintenance-ports.ts';
import type { Store } from '../../core/ports.ts';
import type { Parameter } from '../rows/fragment.ts';
import { tombstoneColumns } from '../rows/record-columns.ts';
import { decoded, storedBytes, storedText } from '../rows/stored-value.ts';
import { APPLICATION, findNumber, toApplicationRecord } from './application-rows.ts';
import { type Connections, INSPECT } from './connections.ts';
import { REPLY } from './reply-rows.ts';
import { type Row, storedList } from './sql-client.ts';
import { TOKEN_COLUMNS, toTokenRecord } from './token-reads.ts';
import { storedBlind, storedUuid, uuid, uuidKey } from './uuid-text.ts';

/** Live tokens and tombstones share a table. */
function tokenRows(columns: string, test: string): string {
  return `SELECT ${columns} FROM vault.token t WHERE tenant = $1 AND id > $2 AND deleted_at IS ${test} ORDER BY t.id LIMIT $3`;
}

/** Selects all blind indexes of a token: those of its row, and the containers of its set. */
const BLINDS = `t.blinds || coalesce(
  (SELECT containers FROM vault.container_set s WHERE s.tenant = t.tenant AND s.number = t.set_number), '{}')`;
const TOMBSTONE = tombstoneColumns(uuid);

interface Reader<Inspected> {
  /** The query. Parameters: tenant, position, limit, and the second value of the position if it has two. */
  readonly sql: string;
  /** Returns the values of the position after an id. */
  position(id: string): readonly Parameter[];
  idOf(row: Row): string;
  decode(tenantId: string, row: Row): Inspected;
  indexesOf?(row: Row): readonly Uint8Array[];
}

const BY_ID = { position: (id: string) => [id], idOf: ([id]: Row) => storedText(id) };

const READERS: { readonly [Table in keyof InspectedRecords]: Reader<InspectedRecords[Table]> } = {
  token: {
    ...BY_ID,
    sql: tokenRows(`${TOKEN_COLUMNS}, ${BLINDS}`, 'NULL'),
    decode: toTokenRecord,
    indexesOf: (row) => storedList(row.at(-1)).map(storedBlind),
  },
  application: {
    sql: `SELECT ${APPLICATION.of('a')} FROM vault.application a WHERE a.tenant = $1 AND ($2::uuid IS NULL OR a.id > $2)
      ORDER BY a.id LIMIT $3`,
    position: (id) => [uuidKey(id)],
    idOf: ([id]) => storedUuid(id),
    decode: toApplicationRecord,
  },
  tombstone: {
    ...BY_ID,
    sql: tokenRows(TOMBSTONE.of('t'), 'NOT NULL'),
    decode: (tenantId, row) => TOMBSTONE.readList(row, { tenant_id: tenantId }),
  },
  reply: {
    sql: `SELECT ${REPLY.of('r')} FROM vault.reply r
      WHERE r.tenant = $1 AND ($2::uuid IS NULL OR (r.application_id, r.key_hash) > ($2, $4))
      ORDER BY r.application_id, r.key_hash LIMIT $3`,
    position(id) {
      const [application = '', key = ''] = id.split(' ');
      return [uuidKey(application), Buffer.from(key, 'hex')];
    },
    idOf: ([application, key]) => `${storedUuid(application)} ${storedBytes(key).toString('hex')}`,
    decode: (tenantId, row) => REPLY.readList(row, { tenant_id: tenantId }),
  },
};

/** Returns the function that reads a tenant's rows after the id `after`, in order of id. */
export function rowInspection({ inspectSnapshot }: Pick<Connections, 'inspectSnapshot'>) {
  return {
    inspectRows: (table, tenantId, after, limit) =>
      inspectSnapshot(async (run) => {
        const [, found] = await Promise.all([run(INSPECT), findNumber(run, tenantId)]);
        if (found === undefined) return [];
        const { sql, position, idOf, decode, indexesOf } = READERS[table];
        const [first, ...more] = position(after);
        const rows = await run(sql, [found.tenant, first, limit, ...more]);
        return rows.map((row) => ({
          id: idOf(row),
          record: decoded(() => decode(tenantId, row)),
          indexes: decoded(() => indexesOf?.(row)) ?? [],
        }));
      }),
  } satisfies Partial<Store>;
}
