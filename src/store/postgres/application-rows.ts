import type { Minting, RemovalEntry } from '../../core/application-ports.ts';
import type { EndedRecord } from '../../core/audit/ports.ts';
import type { ApplicationRecord, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { applicationColumns } from '../rows/record-columns.ts';
import { requireRoom } from '../rows/require-room.ts';
import { optionally, storedInstant, storedNumber } from '../rows/stored-value.ts';
import { APPLICATION_TYPE_CODES } from '../rows/type-codes.ts';
import { Undo } from '../rows/undo.ts';
import { insertKey, removeKeysOf } from './application-key-rows.ts';
import type { Connections, Run, Transaction } from './connections.ts';
import { removeRepliesOf } from './reply-rows.ts';
import { named, numbered, type Row } from './sql-client.ts';
import { changeTenant, findNumber } from './tenant-number.ts';
import { storedUuid, uuid, uuidKey } from './uuid-text.ts';

/** The columns of `application`, except the tenant. */
export const APPLICATION = applicationColumns(uuid);

export function toApplicationRecord(tenantId: string, row: Row): ApplicationRecord {
  return APPLICATION.readList(row, { tenant_id: tenantId });
}

export const APPLICATION_READS = named({
  findApplication: `SELECT ${APPLICATION.of('a')} FROM (SELECT tenant FROM vault.tenant WHERE id = $1 OFFSET 0) n,
      LATERAL (SELECT * FROM vault.application WHERE tenant = n.tenant AND id = $2 OFFSET 0) a
      WHERE a.expires_at IS NULL OR a.expires_at > $3`,
});

/** Parameters: tenant, now, ids or NULL, types or NULL, parent or NULL, latest end or NULL. */
const LISTED = `FROM vault.application a WHERE a.tenant = (SELECT tenant FROM vault.tenant WHERE id = $1)
  AND (a.expires_at IS NULL OR a.expires_at > $2) AND ($3::uuid[] IS NULL OR a.id = ANY ($3))
  AND ($4::smallint[] IS NULL OR a.type = ANY ($4)) AND ($5::uuid IS NULL OR a.parent_id = $5)
  AND ($6::bigint IS NULL OR a.expires_at <= $6)`;
const PAGE = `SELECT ${APPLICATION.of('a')} ${LISTED} ORDER BY a.created_at DESC, a.id LIMIT $7 OFFSET $8`;
const COUNT = `SELECT count(*) ${LISTED}`;

const KEY_EXISTS = 'SELECT 1 FROM vault.application_key WHERE tenant = $1 AND application_id = $2 AND id = $3';
const LIVE_CHILDREN = `SELECT count(*), min(expires_at) FROM vault.application
    WHERE tenant = $1 AND parent_id = $2 AND expires_at > $3 AND expires_at <= $4`;
const INSERT = numbered(APPLICATION.insertInto('vault.application', 'tenant'));
const REPLACE = numbered(`UPDATE vault.application SET ${APPLICATION.assigned()}
    WHERE tenant = ? AND id = ? AND revision = ? RETURNING 1`);
const REMOVE = `DELETE FROM vault.application WHERE tenant = $1 AND id = $2 AND ($3::bigint IS NULL OR revision = $3)
    RETURNING id, revision`;
const REMOVE_CHILDREN = 'DELETE FROM vault.application WHERE tenant = $1 AND parent_id = $2 RETURNING id, revision';
const REMOVE_KEY = `DELETE FROM vault.application_key WHERE tenant = $1 AND application_id = $2 AND id = $3
    RETURNING id, revision`;
/** Removes the applications that an application created with one of its keys. */
const REMOVE_MINTED = `DELETE FROM vault.application WHERE tenant = $1 AND parent_id = $2 AND parent_key_id = $3
    RETURNING id, revision`;

/** The place of an application. */
interface Place {
  readonly tenantId: string;
  readonly tenant: number;
  readonly id: string;
}

/** The removed rows of one change, each with its id and its revision. */
interface RemovedRows {
  readonly applications: readonly Row[];
  readonly keys: readonly Row[];
}

function toEnded([id, revision]: Row): EndedRecord {
  return { id: storedUuid(id), revision: storedNumber(revision) };
}

/** Removes the keys of removed applications, and the replies to them. Writes the entry of all that was removed. */
async function endApplications(
  { run, record }: Transaction,
  { tenantId, tenant }: Omit<Place, 'id'>,
  audit: RemovalEntry,
  removed: RemovedRows,
): Promise<void> {
  const applications = removed.applications.map(toEnded);
  const ids = applications.map(({ id }) => id);
  const keys = [...removed.keys, ...(await removeKeysOf(run, tenant, ids))].map(toEnded);
  if (applications.length + keys.length === 0) return;
  await record(audit({ applications, keys }));
  await removeRepliesOf(run, tenantId, ids);
}

/**
 * Removes an application, those that it created, and the replies to them. Writes the entry of the removed ones. Resolves
 * to false if the application does not exist, or has another revision than the given one.
 */
export async function removeApplication(
  transaction: Transaction,
  of: Place & { readonly revision?: number },
  audit: RemovalEntry,
): Promise<boolean> {
  const own = await transaction.run(REMOVE, [of.tenant, uuidKey(of.id), of.revision]);
  if (own.length === 0) return false;
  const children = await transaction.run(REMOVE_CHILDREN, [of.tenant, uuidKey(of.id)]);
  await endApplications(transaction, of, audit, { applications: [...own, ...children], keys: [] });
  return true;
}

/**
 * Removes a key, and the applications that were created with it. Writes the entry of the removed ones. Resolves to false
 * if the application has no such key.
 */
export async function removeKey(
  transaction: Transaction,
  { keyId, ...of }: Place & { readonly keyId: string },
  audit: RemovalEntry,
): Promise<boolean> {
  const key = [of.tenant, uuidKey(of.id), uuidKey(keyId)];
  const keys = await transaction.run(REMOVE_KEY, key);
  if (keys.length === 0) return false;
  await endApplications(transaction, of, audit, { applications: await transaction.run(REMOVE_MINTED, key), keys });
  return true;
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
    if (minting) requireRoom(minting, storedNumber(live), optionally(storedInstant)(next));
  }
  await run(INSERT, [...APPLICATION.values(record), found.tenant]);
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
        const changes = [...APPLICATION.changes(application), ...at, expectedRevision];
        if ((await run(REPLACE, changes)).length === 0) return false;
        if (regenerated === undefined) return true;
        const { key, ended } = regenerated;
        if (!(await insertKey(run, key))) throw new Undo(false);
        const keys = await removeKeysOf(run, tenant, [id], key.id);
        await endApplications(transaction, { tenantId, tenant }, ended, {
          applications: await run(REMOVE_CHILDREN, at),
          keys,
        });
        return true;
      }),

    deleteApplication: (tenantId, id, expectedRevision, audit) =>
      changeTenant(connections, tenantId, undefined, (transaction, { tenant }) =>
        removeApplication(transaction, { tenantId, tenant, id, revision: expectedRevision }, audit),
      ),

    deleteApplicationKey: (tenantId, applicationId, id, audit) =>
      changeTenant(connections, tenantId, undefined, (transaction, { tenant }) =>
        removeKey(transaction, { tenantId, tenant, id: applicationId, keyId: id }, audit),
      ),
  } satisfies Partial<Store>;
}
