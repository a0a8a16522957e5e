import type { InspectedRecords } from '../../core/maintenance-ports.ts';
import type { Store } from '../../core/ports.ts';
import { tombstoneColumns } from '../rows/record-columns.ts';
import { decoded, storedBytes, storedText } from '../rows/stored-value.ts';
import { APPLICATION, toApplicationRecord } from './application-rows.ts';
import { type Connections, PLAN_BY_ORDER, type Run } from './connections.ts';
import { REPLY } from './reply-rows.ts';
import { type Row, type Statement, storedList } from './sql-client.ts';
import { findNumber } from './tenant-numbers.ts';
import { TOKEN_COLUMNS, toTokenRecord } from './token-reads.ts';
import { storedBlind, storedUuid, uuid, uuidKey } from './uuid-text.ts';

/** The number of rows of `token` that one statement examines. Live tokens and tombstones share the table. */
const EXAMINED = 10_000;

/** Parameters: tenant, id before the first row, limit. */
function tokenRows(columns: string, test: string): string {
  return `SELECT ${columns} FROM (SELECT * FROM vault.token WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT ${EXAMINED}) t
      WHERE ${test} ORDER BY t.id LIMIT $3`;
}

/** Selects all blind indexes of a token: those of its row, and the containers of its set. */
const BLINDS = `t.blinds || coalesce(
  (SELECT containers FROM vault.container_set s WHERE s.tenant = t.tenant AND s.number = t.set_number), '{}')`;
const TOKENS = tokenRows(`${TOKEN_COLUMNS}, ${BLINDS}`, 't.deleted_at IS NULL');
const TOMBSTONE = tombstoneColumns(uuid);
const TOMBSTONES = tokenRows(TOMBSTONE.of('t'), 't.deleted_at IS NOT NULL');
/** Selects the id of the last examined row; no row at the end. */
const LAST_EXAMINED = `SELECT id FROM vault.token WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT 1 OFFSET ${EXAMINED - 1}`;
const APPLICATIONS = `SELECT ${APPLICATION.of('a')} FROM vault.application a WHERE a.tenant = $1 AND ($2::uuid IS NULL OR a.id > $2)
    ORDER BY a.id LIMIT $3`;
const REPLIES = `SELECT ${REPLY.of('r')} FROM vault.reply r
    WHERE r.tenant = $1 AND ($2::uuid IS NULL OR (r.application_id, r.key_hash) > ($2, $3))
    ORDER BY r.application_id, r.key_hash LIMIT $4`;

/** The position of a batch: the tenant, the id before the first row, and the maximum number of rows. */
type Position = readonly [tenant: number, after: string, limit: number];

interface Reader<Inspected> {
  read(run: Run, ...position: Position): Promise<readonly Row[]>;
  idOf(row: Row): string;
  decode(tenantId: string, row: Row): Inspected;
  indexesOf?(row: Row): readonly Uint8Array[];
}

const READERS: { readonly [Table in keyof InspectedRecords]: Reader<InspectedRecords[Table]> } = {
  token: {
    read: (run, ...position) => readTokens(run, TOKENS, position),
    idOf: ([id]) => storedText(id),
    decode: toTokenRecord,
    indexesOf: (row) => storedList(row.at(-1)).map(storedBlind),
  },
  application: {
    read: (run, tenant, after, limit) => run(APPLICATIONS, [tenant, uuidKey(after), limit]),
    idOf: ([id]) => storedUuid(id),
    decode: toApplicationRecord,
  },
  tombstone: {
    read: (run, ...position) => readTokens(run, TOMBSTONES, position),
    idOf: ([id]) => storedText(id),
    decode: (tenantId, row) => TOMBSTONE.readList(row, { tenant_id: tenantId }),
  },
  reply: {
    read(run, tenant, after, limit) {
      const [application = '', key = ''] = after.split(' ');
      return run(REPLIES, [tenant, uuidKey(application), Buffer.from(key, 'hex'), limit]);
    },
    idOf: ([application, key]) => `${storedUuid(application)} ${storedBytes(key).toString('hex')}`,
    decode: (tenantId, row) => REPLY.readList(row, { tenant_id: tenantId }),
  },
};

/** Returns the function that reads a tenant's rows after the id `after`, in order of id. */
export function rowInspection({ readSnapshot }: Pick<Connections, 'readSnapshot'>) {
  return {
    inspectRows: (table, tenantId, after, limit) =>
      readSnapshot(async (run) => {
        const [, found] = await Promise.all([run(PLAN_BY_ORDER), findNumber(run, tenantId)]);
        const { read, idOf, decode, indexesOf } = READERS[table];
        const rows = found === undefined ? [] : await read(run, found.tenant, after, limit);
        return rows.map((row) => ({
          id: idOf(row),
          record: decoded(() => decode(tenantId, row)),
          indexes: decoded(() => indexesOf?.(row)) ?? [],
        }));
      }),
  } satisfies Partial<Store>;
}

async function readTokens(run: Run, statement: Statement, [tenant, after, limit]: Position) {
  const rows: Row[] = [];
  let from = after;
  while (rows.length < limit) {
    const read = run(statement, [tenant, from, limit - rows.length]);
    const [found, [last]] = await Promise.all([read, run(LAST_EXAMINED, [tenant, from])]);
    rows.push(...found);
    if (last === undefined) break;
    from = storedText(last[0]);
  }
  return rows;
}
