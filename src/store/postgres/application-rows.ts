import type { Minting } from '../../core/application-ports.ts';
import type { AuthorityDraft, EndedRecord } from '../../core/audit/ports.ts';
import type { ApplicationRecord, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { applicationColumns } from '../rows/record-columns.ts';
import { requireRoom } from '../rows/require-room.ts';
import { optionally, storedInstant, storedNumber } from '../rows/stored-value.ts';
import { APPLICATION_TYPE_CODES } from '../rows/type-codes.ts';
import type { Connections, Run, Transaction } from './connections.ts';
import { removeRepliesOf } from './reply-rows.ts';
import { named, numbered, type Row } from './sql-client.ts';
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

const EXISTS = `SELECT 1 FROM vault.application
    WHERE tenant = $1 AND id = $2 AND ($3::bytea IS NULL OR key_hash = $3)`;
const LIVE_CHILDREN = `SELECT count(*), min(expires_at) FROM vault.application
    WHERE tenant = $1 AND parent_id = $2 AND expires_at > $3 AND expires_at <= $4`;
const INSERT = numbered(APPLICATION.insertInto('vault.application', 'tenant'));
const REPLACE = numbered(`UPDATE vault.application SET ${APPLICATION.assigned()}
    WHERE tenant = ? AND id = ? AND revision = ? RETURNING 1`);
const REMOVE = `DELETE FROM vault.application WHERE tenant = $1 AND id = $2 AND ($3::bigint IS NULL OR revision = $3)
    RETURNING id, revision`;
const REMOVE_CHILDREN = 'DELETE FROM vault.application WHERE tenant = $1 AND parent_id = $2 RETURNING id, revision';

const FIND_TENANT = 'SELECT tenant, data_key_id FROM vault.tenant WHERE id = $1';

/** A tenant's number inside the database, and the id of its newest data key. */
interface TenantNumber {
  readonly tenant: number;
  readonly dataKey: number;
}

/** Resolves to the tenant's number, or to undefined if the tenant does not exist. */
export async function findNumber(run: Run, id: string): Promise<TenantNumber | undefined> {
  const [row] = await run(FIND_TENANT, [uuidKey(id)]);
  return row && { tenant: storedNumber(row[0]), dataKey: storedNumber(row[1]) };
}

type TenantChange = (transaction: Transaction, found: TenantNumber) => Promise<boolean>;

/**
 * Changes a tenant, its applications or keys. `work` resolves to whether it changed something; only then the entry is
 * written. Resolves to false if nothing was changed, or if the tenant does not exist.
 */
export function changeTenant(
  { change }: Connections,
  id: string,
  audit: AuthorityDraft | undefined,
  work: TenantChange,
) {
  return change(async (transaction) => {
    const found = await findNumber(transaction.run, id);
    if (found === undefined || !(await work(transaction, found))) return false;
    if (audit !== undefined) await transaction.record(audit);
    return true;
  });
}

/** The place of an application. */
interface Place {
  readonly tenantId: string;
  readonly tenant: number;
  readonly id: string;
}

type RemovalEntry = (removed: readonly EndedRecord[]) => AuthorityDraft;

function toEnded([id, revision]: Row): EndedRecord {
  return { id: storedUuid(id), revision: storedNumber(revision) };
}

/**
 * Removes the applications that an application created, and the replies to them. Writes the entry of the removed ones.
 * `own` has the application itself if it was removed, too.
 */
async function endApplications(
  { run, record }: Transaction,
  { tenantId, tenant, id }: Place,
  audit: RemovalEntry,
  own: readonly Row[] = [],
): Promise<void> {
  const removed = [...own, ...(await run(REMOVE_CHILDREN, [tenant, uuidKey(id)]))].map(toEnded);
  if (removed.length === 0) return;
  await record(audit(removed));
  await removeRepliesOf(
    run,
    tenantId,
    removed.map((one) => one.id),
  );
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
  await endApplications(transaction, of, audit, own);
  return true;
}

/**
 * Inserts an application in a transaction. Throws `write_conflict` unless it is under the tenant's newest data key, and
 * `unauthenticated` if its tenant or creator is gone, or the creator has a new key: that change would no longer end it.
 */
export async function insertApplication(run: Run, record: ApplicationRecord, minting?: Minting): Promise<void> {
  const found = await findNumber(run, record.tenant_id);
  if (found === undefined) throw new Problem('unauthenticated');
  if (found.dataKey !== record.key_id) throw new Problem('write_conflict');
  if (record.parent_id !== undefined) {
    const parent = [found.tenant, uuidKey(record.parent_id)];
    if ((await run(EXISTS, [...parent, minting?.key_hash])).length === 0) throw new Problem('unauthenticated');
    const [[live, next] = []] = minting ? await run(LIVE_CHILDREN, [...parent, minting.now, minting.latest]) : [];
    if (minting) requireRoom(minting, storedNumber(live), optionally(storedInstant)(next));
  }
  await run(INSERT, [...APPLICATION.values(record), found.tenant]);
}

export function applicationMethods(connections: Connections) {
  return {
    insertApplication: (application, audit, minting) =>
      connections.change(async (transaction) => {
        await insertApplication(transaction.run, application, minting);
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

    replaceApplication: ({ tenant_id: tenantId, ...application }, expectedRevision, audit, ended) =>
      changeTenant(connections, tenantId, audit, async (transaction, { tenant, dataKey }) => {
        const { id, key_id } = application;
        if (dataKey !== key_id) throw new Problem('write_conflict');
        const key = [tenant, uuidKey(id), expectedRevision];
        if ((await transaction.run(REPLACE, [...APPLICATION.changes(application), ...key])).length === 0) return false;
        if (ended !== undefined) await endApplications(transaction, { tenantId, tenant, id }, ended);
        return true;
      }),

    deleteApplication: (tenantId, id, expectedRevision, audit) =>
      changeTenant(connections, tenantId, undefined, (transaction, { tenant }) =>
        removeApplication(transaction, { tenantId, tenant, id, revision: expectedRevision }, audit),
      ),
  } satisfies Partial<Store>;
}
