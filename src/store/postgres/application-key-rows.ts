import type { ApplicationKeyRecord, Removal } from '../../core/application-ports.ts';
import type { EndedRecord } from '../../core/audit/ports.ts';
import type { Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { applicationKeyColumns } from '../rows/record-columns.ts';
import { readable, storedNumber } from '../rows/stored-value.ts';
import type { Connections, Run } from './connections.ts';
import { requireFree } from './reply-rows.ts';
import { firstValue, named, numbered, type Row } from './sql-client.ts';
import { changeTenant, findNumber } from './tenant-number.ts';
import { storedUuid, uuid, uuidKey } from './uuid-text.ts';

/** The columns of `application_key`, except the tenant. */
export const APPLICATION_KEY_ROW = applicationKeyColumns(uuid);

export function toApplicationKeyRecord(tenantId: string, row: Row): ApplicationKeyRecord {
  return APPLICATION_KEY_ROW.readList(row, { tenant_id: tenantId });
}

export const APPLICATION_KEY_READS = named({
  findApplicationKey: `SELECT ${APPLICATION_KEY_ROW.of('k')} FROM (SELECT tenant FROM vault.tenant WHERE id = $1 OFFSET 0) n,
      LATERAL (SELECT * FROM vault.application_key WHERE tenant = n.tenant AND id = $2 OFFSET 0) k`,
  findApplicationKeys: `SELECT ${APPLICATION_KEY_ROW.of('k')} FROM (SELECT tenant FROM vault.tenant WHERE id = $1 OFFSET 0) n,
      LATERAL (SELECT * FROM vault.application_key WHERE tenant = n.tenant AND application_id = $2 OFFSET 0) k
      WHERE k.expires_at IS NULL OR k.expires_at > $3 ORDER BY k.version DESC`,
});
const COUNT_LIVE = `SELECT count(*) FROM vault.application_key
    WHERE tenant = $1 AND application_id = $2 AND (expires_at IS NULL OR expires_at > $3)`;
const NEXT_VERSION = `UPDATE vault.application SET key_version = $3
    WHERE tenant = $1 AND id = $2 AND key_version = $3 - 1 RETURNING 1`;
const INSERT = numbered(APPLICATION_KEY_ROW.insertInto('vault.application_key', 'tenant'));
const KEYS_OF = `SELECT ${APPLICATION_KEY_ROW.of('k')} FROM vault.application_key k
    WHERE k.tenant = $1 AND k.application_id = ANY ($2::uuid[]) AND k.id IS DISTINCT FROM $3`;
const REMOVE_KEYS =
  'DELETE FROM vault.application_key WHERE tenant = $1 AND id = ANY ($2::uuid[]) RETURNING id, revision';
const MARK = `UPDATE vault.application_key SET last_used_day = $3
    WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) AND id = ANY ($2::uuid[]) AND last_used_day < $3`;
const RESEAL = numbered(`UPDATE vault.application_key SET ${APPLICATION_KEY_ROW.assigned()}
    WHERE tenant = ? AND id = ? RETURNING 1`);

/**
 * Inserts a key in a transaction. Resolves to false unless the application has made as many keys as the version of this
 * key requires. Throws `write_conflict` unless the key is under the tenant's newest data key.
 */
export async function insertKey(run: Run, record: ApplicationKeyRecord): Promise<boolean> {
  const found = await findNumber(run, record.tenant_id);
  if (found === undefined) throw new Problem('unauthenticated');
  if (found.dataKey !== record.key_id) throw new Problem('write_conflict');
  const application = uuidKey(record.application_id);
  if ((await run(NEXT_VERSION, [found.tenant, application, record.version])).length === 0) return false;
  await run(INSERT, [...APPLICATION_KEY_ROW.values(record), found.tenant]);
  return true;
}

/** Removes the genuine keys of applications, except the key `kept`, and resolves to them. */
export async function removeKeysOf(
  run: Run,
  { tenantId, tenant }: { readonly tenantId: string; readonly tenant: number },
  applicationIds: readonly string[],
  { isGenuine }: Removal,
  kept?: string,
): Promise<readonly EndedRecord[]> {
  const rows = await run(KEYS_OF, [tenant, applicationIds.map(uuidKey), kept === undefined ? null : uuidKey(kept)]);
  const ended = readable(rows, (row) => toApplicationKeyRecord(tenantId, row)).filter(isGenuine);
  if (ended.length === 0) return [];
  const removed = await run(REMOVE_KEYS, [tenant, ended.map(({ id }) => uuidKey(id))]);
  return removed.map(([id, revision]) => ({ id: storedUuid(id), revision: storedNumber(revision) }));
}

export function applicationKeyMethods(connections: Connections) {
  return {
    async findApplicationKey(tenantId, id) {
      const [row] = await connections.read(APPLICATION_KEY_READS.findApplicationKey, [uuidKey(tenantId), uuidKey(id)]);
      return row && toApplicationKeyRecord(tenantId, row);
    },

    async findApplicationKeys(tenantId, applicationId, now) {
      const values = [uuidKey(tenantId), uuidKey(applicationId), now];
      const rows = await connections.read(APPLICATION_KEY_READS.findApplicationKeys, values);
      return rows.map((row) => toApplicationKeyRecord(tenantId, row));
    },

    insertApplicationKey: (key, { most, now }, audit) =>
      changeTenant(connections, key.tenant_id, audit, async ({ run }, { tenant }) => {
        await requireFree(run, audit);
        const live = firstValue(await run(COUNT_LIVE, [tenant, uuidKey(key.application_id), now]));
        if (storedNumber(live) >= most) throw new Problem('too_many_keys');
        return insertKey(run, key);
      }),

    markKeysUsed: (tenantId, ids, day) =>
      connections.change(async ({ run }) => void (await run(MARK, [uuidKey(tenantId), ids.map(uuidKey), day]))),

    resealApplicationKeys: (tenantId, keys) =>
      connections.change(async ({ run }) => {
        const found = await findNumber(run, tenantId);
        let count = 0;
        for (const key of keys) {
          if (found?.dataKey !== key.key_id) throw new Problem('write_conflict');
          count += (await run(RESEAL, [...APPLICATION_KEY_ROW.changes(key), found.tenant, uuidKey(key.id)])).length;
        }
        return count;
      }),
  } satisfies Partial<Store>;
}
