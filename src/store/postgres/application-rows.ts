import type { Minting, Removal } from '../../core/application-ports.ts';
import type { EndedRecord } from '../../core/audit/ports.ts';
import type { ApplicationRecord, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { applicationColumns } from '../rows/record-columns.ts';
import { requireQuota } from '../rows/require-quota.ts';
import { Rollback } from '../rows/rollback.ts';
import { optionally, readable, storedInstant, storedNumber } from '../rows/stored-value.ts';
import { APPLICATION_TYPE_CODES } from '../rows/type-codes.ts';
import { insertKey, removeKeysOf } from './application-key-rows.ts';
import type { Connections, Run, Transaction } from './connections.ts';
import { removeRepliesOf } from './reply-rows.ts';
import { named, numbered, type Row } from './sql-client.ts';
import { changeTenant, findNumber } from './tenant-number.ts';
import { uuid, uuidKey } from './uuid-text.ts';

/** The columns of `application`, except the tenant. */
export const APPLICATION_ROW = applicationColumns(uuid);

export function toApplicationRecord(tenantId: string, row: Row): ApplicationRecord {
  return APPLICATION_ROW.readList(row, { tenant_id: tenantId });
}

export const APPLICATION_READS = named({
  findApplication: `SELECT ${APPLICATION_ROW.of('a')} FROM (SELECT tenant FROM vault.tenant WHERE id = $1 OFFSET 0) n,
      LATERAL (SELECT * FROM vault.application WHERE tenant = n.tenant AND id = $2 OFFSET 0) a
      WHERE a.expires_at IS NULL OR a.expires_at > $3`,
});

/** Parameters: tenant, now, ids or NULL, types or NULL, parent or NULL, latest end or NULL. */
const LISTED = `FROM vault.application a WHERE a.tenant = (SELECT tenant FROM vault.tenant WHERE id = $1)
  AND (a.expires_at IS NULL OR a.expires_at > $2) AND ($3::uuid[] IS NULL OR a.id = ANY ($3))
  AND ($4::smallint[] IS NULL OR a.type = ANY ($4)) AND ($5::uuid IS NULL OR a.parent_id = $5)
  AND ($6::bigint IS NULL OR a.expires_at <= $6)`;
const PAGE = `SELECT ${APPLICATION_ROW.of('a')} ${LISTED} ORDER BY a.created_at DESC, a.id LIMIT $7 OFFSET $8`;
const COUNT = `SELECT count(*) ${LISTED}`;

const KEY_EXISTS = 'SELECT 1 FROM vault.application_key WHERE tenant = $1 AND application_id = $2 AND id = $3';
const LIVE_CHILDREN = `SELECT count(*), min(expires_at) FROM vault.application
    WHERE tenant = $1 AND parent_id = $2 AND expires_at > $3 AND expires_at <= $4`;
const INSERT = numbered(APPLICATION_ROW.insertInto('vault.application', 'tenant'));
const REPLACE = numbered(`UPDATE vault.application SET ${APPLICATION_ROW.assigned()}
    WHERE tenant = ? AND id = ? AND revision = ? RETURNING 1`);
const REMOVE = `DELETE FROM vault.application WHERE tenant = $1 AND id = $2 AND revision = $3 RETURNING revision`;
const CHILDREN = `SELECT ${APPLICATION_ROW.of('a')} FROM vault.application a WHERE a.tenant = $1 AND a.parent_id = $2
    AND ($3::uuid IS NULL OR a.parent_key_id = $3)`;
const REMOVE_ALL = 'DELETE FROM vault.application WHERE tenant = $1 AND id = ANY ($2::uuid[])';
const REMOVE_KEY = `DELETE FROM vault.application_key WHERE tenant = $1 AND application_id = $2 AND id = $3
    RETURNING revision`;

/** The identity of an application in its tenant. */
interface ApplicationIdentity {
  readonly tenantId: string;
  readonly tenant: number;
  readonly id: string;
}

/** Removed applications, and removed keys of applications that stay. */
interface Ended {
  readonly applications?: readonly EndedRecord[];
  readonly keys: readonly EndedRecord[];
}

/**
 * Removes the applications that an application created (with `keyId`: only those created with this key), the keys of
 * all removed applications, and the replies to them. Writes the entry of all that the change has removed.
 */
async function endApplications(
  { run, record }: Transaction,
  { tenantId, tenant, id, keyId }: ApplicationIdentity & { readonly keyId?: string },
  removal: Removal,
  { applications = [], keys }: Ended,
): Promise<void> {
  const found = await run(CHILDREN, [tenant, uuidKey(id), keyId === undefined ? null : uuidKey(keyId)]);
  const children = readable(found, (row) => toApplicationRecord(tenantId, row)).filter(removal.isGenuine);
  if (children.length > 0) await run(REMOVE_ALL, [tenant, children.map((child) => uuidKey(child.id))]);
  const ended = [...applications, ...children];
  const ids = ended.map((one) => one.id);
  const all = [...keys, ...(await removeKeysOf(run, { tenantId, tenant }, ids, removal))];
  if (ended.length + all.length === 0) return;
  await record(removal.entry({ applications: ended, keys: all }));
  await removeRepliesOf(run, tenantId, ids);
}

/**
 * Inserts an application in a transaction. Throws `write_conflict` unless it is under the tenant's newest data key, and
 * `unauthenticated` if its tenant, creator or the creator's key is gone: that change would no longer end it.
 */
export async function insertApplication(run: Run, record: ApplicationRecord, minting?: Minting): Promise<void> {
  const found = await findNumber(run, record.tenant_id);
  if (found === undefined) throw new Problem('unauthenticated');
  if (found.dataKey !== record.key_id) throw new Problem('write_conflict');
  if (record.parent_id !== undefined) {
    const parent = [found.tenant, uuidKey(record.parent_id)];
    const key = uuidKey(record.parent_key_id ?? '');
    if ((await run(KEY_EXISTS, [...parent, key])).length === 0) throw new Problem('unauthenticated');
    const [[live, next] = []] = minting ? await run(LIVE_CHILDREN, [...parent, minting.now, minting.latest]) : [];
    if (minting) requireQuota(minting, storedNumber(live), optionally(storedInstant)(next));
  }
  await run(INSERT, [...APPLICATION_ROW.values(record), found.tenant]);
}

export function applicationMethods(connections: Connections) {
  return {
    insertApplication: (application, audit, { key, minting } = {}) =>
      connections.change(async (transaction) => {
        await insertApplication(transaction.run, application, minting);
        if (key !== undefined) await insertKey(transaction.run, key);
        await transaction.record(audit);
      }),

    async findApplication(tenantId, id, now) {
      const [row] = await connections.read(APPLICATION_READS.findApplication, [uuidKey(tenantId), uuidKey(id), now]);
      return row && toApplicationRecord(tenantId, row);
    },

    findApplications({ tenant_id, ids, types, parent_id, latest }, { offset, limit }, now) {
      const wanted = [
        uuidKey(tenant_id),
        now,
        ids?.map(uuidKey).filter((id) => id !== null),
        types?.map((type) => APPLICATION_TYPE_CODES[type]),
        parent_id === undefined ? undefined : uuidKey(parent_id),
        latest,
      ];
      return connections.readSnapshot(async (run) => {
        const [rows, [total]] = await Promise.all([run(PAGE, [...wanted, limit, offset]), run(COUNT, wanted)]);
        return { records: rows.map((row) => toApplicationRecord(tenant_id, row)), total: storedNumber(total?.[0]) };
      });
    },

    replaceApplication: ({ tenant_id: tenantId, ...application }, expectedRevision, audit, regenerated) =>
      changeTenant(connections, tenantId, audit, async (transaction, { tenant, dataKey }) => {
        const { id, key_id } = application;
        if (dataKey !== key_id) throw new Problem('write_conflict');
        const { run } = transaction;
        const at = [tenant, uuidKey(id)];
        const changes = [...APPLICATION_ROW.changes(application), ...at, expectedRevision];
        if ((await run(REPLACE, changes)).length === 0) return false;
        if (regenerated === undefined) return true;
        const { key, removal } = regenerated;
        if (!(await insertKey(run, key))) throw new Rollback(false);
        const keys = await removeKeysOf(run, { tenantId, tenant }, [id], removal, key.id);
        await endApplications(transaction, { tenantId, tenant, id }, removal, { keys });
        return true;
      }),

    deleteApplication: (tenantId, id, revision, removal) =>
      changeTenant(connections, tenantId, undefined, async (transaction, { tenant }) => {
        if ((await transaction.run(REMOVE, [tenant, uuidKey(id), revision])).length === 0) return false;
        const applications = [{ id, revision }];
        await endApplications(transaction, { tenantId, tenant, id }, removal, { applications, keys: [] });
        return true;
      }),

    deleteApplicationKey: (tenantId, applicationId, id, removal) =>
      changeTenant(connections, tenantId, undefined, async (transaction, { tenant }) => {
        const [row] = await transaction.run(REMOVE_KEY, [tenant, uuidKey(applicationId), uuidKey(id)]);
        if (row === undefined) return false;
        const keys = [{ id, revision: storedNumber(row[0]) }];
        await endApplications(transaction, { tenantId, tenant, id: applicationId, keyId: id }, removal, { keys });
        return true;
      }),
  } satisfies Partial<Store>;
}
