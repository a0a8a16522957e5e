import type { InspectedRecords, InspectedRow } from '../../core/maintenance-ports.ts';
import type { Store, Tombstone } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { optionally, storedBytes, storedNumber, storedText } from '../rows/stored-value.ts';
import { storedTokenType } from '../rows/type-codes.ts';
import { APPLICATION_COLUMNS, toApplicationRecord } from './application-rows.ts';
import type { Connections, Run } from './connections.ts';
import { TOKEN_COLUMNS, toTokenRecord } from './decode-token.ts';
import { PLAN_BY_ORDER } from './plan-by-order.ts';
import { REPLY_COLUMNS, toStoredReply } from './reply-rows.ts';
import type { Row, Statement } from './sql-client.ts';
import { findNumber } from './tenant-numbers.ts';
import { storedBlind, storedUuid, uuidKey } from './uuid-text.ts';

/** The number of rows of `token` that one statement examines. Live tokens and tombstones share the table. */
const EXAMINED = 10_000;

/** Parameters: tenant, id before the first row, limit. */
function tokenRows(columns: string, test: string): Statement {
  return {
    text: `SELECT ${columns} FROM (SELECT * FROM vault.token WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT ${EXAMINED}) t
      WHERE ${test} ORDER BY t.id LIMIT $3`,
  };
}

/** Selects all blind indexes of a token: those of its row, and the containers of its set. */
const BLINDS = `t.blinds || coalesce(
  (SELECT containers FROM vault.container_set s WHERE s.tenant = t.tenant AND s.number = t.set_number), '{}')`;
const TOKENS = tokenRows(`${TOKEN_COLUMNS}, ${BLINDS}`, 't.deleted_at IS NULL');
const TOMBSTONES = tokenRows(
  't.id, t.type, t.created_by, t.created_at, t.deleted_by, t.deleted_at, t.mac',
  't.deleted_at IS NOT NULL',
);
/** Selects the id of the last examined row; no row at the end. */
const LAST_EXAMINED: Statement = {
  text: `SELECT id FROM vault.token WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT 1 OFFSET ${EXAMINED - 1}`,
};
const APPLICATIONS: Statement = {
  text: `SELECT ${APPLICATION_COLUMNS} FROM vault.application a WHERE a.tenant = $1 AND ($2::uuid IS NULL OR a.id > $2)
    ORDER BY a.id LIMIT $3`,
};
const REPLIES: Statement = {
  text: `SELECT ${REPLY_COLUMNS} FROM vault.reply r
    WHERE r.tenant = $1 AND ($2::uuid IS NULL OR (r.application_id, r.key_hash) > ($2, $3))
    ORDER BY r.application_id, r.key_hash LIMIT $4`,
};

type Readers = {
  readonly [Table in keyof InspectedRecords]: (
    run: Run,
    tenant: number,
    query: { readonly tenantId: string; readonly after: string; readonly limit: number },
  ) => Promise<readonly InspectedRow<InspectedRecords[Table]>[]>;
};

const READERS: Readers = {
  async token(run, tenant, { tenantId, after, limit }) {
    const rows = await readTokens(run, TOKENS, tenant, after, limit);
    return rows.map((row) => ({
      id: storedText(row[0]),
      record: decoded(() => toTokenRecord(tenantId, row)),
      indexes: decoded(() => blindsOf(row.at(-1))) ?? [],
    }));
  },
  async application(run, tenant, { tenantId, after, limit }) {
    const rows = await run(APPLICATIONS, [tenant, uuidKey(after), limit]);
    return rows.map((row) => ({
      id: storedUuid(row[0]),
      record: decoded(() => toApplicationRecord(tenantId, row)),
      indexes: [],
    }));
  },
  async tombstone(run, tenant, { tenantId, after, limit }) {
    const rows = await readTokens(run, TOMBSTONES, tenant, after, limit);
    return rows.map((row) => ({
      id: storedText(row[0]),
      record: decoded(() => toTombstone(tenantId, row)),
      indexes: [],
    }));
  },
  async reply(run, tenant, { tenantId, after, limit }) {
    const [application = '', key = ''] = after.split(' ');
    const rows = await run(REPLIES, [tenant, uuidKey(application), Buffer.from(key, 'hex'), limit]);
    return rows.map((row) => ({
      id: `${storedUuid(row[0])} ${storedBytes(row[1]).toString('hex')}`,
      record: decoded(() => toStoredReply(tenantId, row)),
      indexes: [],
    }));
  },
};

/** Returns the function that reads a tenant's rows after the id `after`, in order of id. */
export function rowInspection({ readSnapshot }: Pick<Connections, 'readSnapshot'>) {
  return {
    inspectRows: (table, tenantId, after, limit) =>
      readSnapshot(async (run) => {
        const [, found] = await Promise.all([run(PLAN_BY_ORDER), findNumber(run, tenantId)]);
        return found === undefined ? [] : READERS[table](run, found.tenant, { tenantId, after, limit });
      }),
  } satisfies Partial<Store>;
}

async function readTokens(run: Run, statement: Statement, tenant: number, after: string, limit: number) {
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

const optionalUuid = optionally(storedUuid);

function toTombstone(tenantId: string, row: Row): Tombstone {
  const [id, type, created_by, created_at, deleted_by, deleted_at, mac] = row;
  return {
    tenant_id: tenantId,
    id: storedText(id),
    type: storedTokenType(type),
    created_by: storedUuid(created_by),
    created_at: storedNumber(created_at),
    deleted_by: optionalUuid(deleted_by),
    deleted_at: storedNumber(deleted_at),
    mac: storedBytes(mac),
  };
}

function blindsOf(value: unknown): readonly Uint8Array[] {
  if (!Array.isArray(value)) throw new Problem('integrity_failure');
  return value.map(storedBlind);
}

/** Returns the decoded record, or undefined if a stored value is not valid. */
function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Problem && error.code === 'integrity_failure') return undefined;
    throw error;
  }
}
