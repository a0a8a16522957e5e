import type { EndedRecord } from '../../../core/audit/ports.ts';
import type { InspectedRecords, InspectedRow } from '../../../core/key-holder-ports.ts';
import type { Tombstone } from '../../../core/ports.ts';
import { decoded } from '../../../core/problem.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { storedBytes, storedText } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import { type ApplicationKeyRow, SELECT_APPLICATION_KEY, toApplicationKeyRecord } from './application-key-rows.ts';
import { type ApplicationRow, SELECT_APPLICATION, toApplicationRecord } from './application-rows.ts';
import type { ContainerSets } from './container-sets.ts';
import { REPLY_ROW, type ReplyRow } from './reply-rows.ts';
import type { TenantRows } from './tenant-rows.ts';
import { SELECT_TOKEN, TOMBSTONE, type TokenRow, toStoredToken } from './token-rows.ts';
import { uuidKey, uuidText } from './uuid-bytes.ts';

type Readers = {
  readonly [Table in keyof InspectedRecords]: (
    tenantId: string,
    tenant: number,
    after: string,
    limit: number,
  ) => readonly InspectedRow<InspectedRecords[Table]>[];
};

/** Returns synchronous functions that read a tenant's rows after the id `after`, in order of id. */
export function rowInspection(connection: Connection, tenants: TenantRows, sets: ContainerSets) {
  const { rows } = statements(connection);
  const tokens = rows<[number, string, number], TokenRow>(
    `${SELECT_TOKEN} INDEXED BY token_id WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?`,
  );
  const applications = rows<[number, Buffer, number], ApplicationRow>(
    `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.id > ? ORDER BY a.id LIMIT +?`,
  );
  const keys = rows<[number, Buffer, number], ApplicationKeyRow>(
    `${SELECT_APPLICATION_KEY} WHERE k.tenant = +? AND k.id > ? ORDER BY k.id LIMIT +?`,
  );
  const tombstones = rows<[number, string, number], StoredRow<Omit<Tombstone, 'tenant_id'>>>(
    `SELECT ${TOMBSTONE.of('tombstone')} FROM tombstone
       WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?`,
  );

  const replies = rows<[number, Buffer, Buffer, number], ReplyRow>(
    `SELECT ${REPLY_ROW.of('reply')} FROM reply WHERE tenant = +? AND (application_id, key_hash) > (?, ?)
       ORDER BY application_id, key_hash LIMIT +?`,
  );

  const readers: Readers = {
    token: (tenantId, tenant, after, limit) =>
      tokens()
        .all(tenant, after, limit)
        .map((row) => ({
          ...inspected(storedText(row.id), () => toStoredToken(tenantId, row).record),
          indexes: sets.allBlinds(tenant, row),
        })),
    application: (_tenantId, tenant, after, limit) =>
      applications()
        .all(tenant, uuidKey(after) ?? Buffer.alloc(0), limit)
        .map((row) => inspected(uuidText(row.id), () => toApplicationRecord(row))),
    application_key: (_tenantId, tenant, after, limit) =>
      keys()
        .all(tenant, uuidKey(after) ?? Buffer.alloc(0), limit)
        .map((row) => inspected(uuidText(row.id), () => toApplicationKeyRecord(row))),
    tombstone: (tenantId, tenant, after, limit) =>
      tombstones()
        .all(tenant, after, limit)
        .map((row) => inspected(storedText(row.id), () => TOMBSTONE.read(row, { tenant_id: tenantId }))),
    reply: (tenantId, tenant, after, limit) =>
      replies()
        .all(tenant, ...splitReplyId(after), limit)
        .map((row) => {
          const id = `${uuidText(row.application_id)} ${storedBytes(row.key_hash).toString('hex')}`;
          return inspected(id, () => REPLY_ROW.read(row, { tenant_id: tenantId }));
        }),
  };

  const revisions = {
    token: rows<[number, string, number], EndedRecord>(
      'SELECT id, revision FROM token INDEXED BY token_id WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?',
    ),
    tombstone: rows<[number, string, number], EndedRecord>(
      'SELECT id, 1 AS revision FROM tombstone WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?',
    ),
  };

  function inspectRows<Table extends keyof InspectedRecords>(
    table: Table,
    tenantId: string,
    after: string,
    limit: number,
  ) {
    const tenant = tenants.find(tenantId);
    return tenant === undefined ? [] : readers[table](tenantId, tenant, after, limit);
  }

  return {
    inspectRows,

    revisions(table: keyof typeof revisions, tenantId: string, after: string, limit: number): readonly EndedRecord[] {
      const tenant = tenants.find(tenantId);
      return tenant === undefined ? [] : revisions[table]().all(tenant, after, limit);
    },
  };
}

function inspected<Record>(id: string, read: () => Record): InspectedRow<Record> {
  return { id, record: decoded(read), indexes: [] };
}

/** Splits the id of a stored reply into its application's id and the hash of its idempotency key. */
function splitReplyId(id: string): [Buffer, Buffer] {
  const [application = '', key = ''] = id.split(' ');
  return [uuidKey(application) ?? Buffer.alloc(0), Buffer.from(key, 'hex')];
}
