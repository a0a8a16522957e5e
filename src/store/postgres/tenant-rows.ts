import type { Store, TenantWithKeys, WrappedKey } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { KEY, tenantColumns } from '../rows/record-columns.ts';
import { storedNumber } from '../rows/stored-value.ts';
import { APPLICATION_KEY_ROW, insertKey, toApplicationKeyRecord } from './application-key-rows.ts';
import { APPLICATION_ROW, insertApplication, toApplicationRecord } from './application-rows.ts';
import type { Connections, Run } from './connections.ts';
import { firstValue, named, numbered, type Row } from './sql-client.ts';
import { changeTenant } from './tenant-number.ts';
import { uuid, uuidKey } from './uuid-text.ts';

const TENANT = tenantColumns(uuid);

/** Reads the rows of one tenant, one for each of its keys. The columns of the tenant begin at `at`. */
function toTenantWithKeys(rows: readonly Row[], at = 0): TenantWithKeys | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const keys = rows.map((row) => row.slice(at + TENANT.names.length)).filter(([id]) => id !== null);
  return { tenant: TENANT.readList(first.slice(at), {}), keys: keys.map((key) => KEY.readList(key, {})) };
}

/** Joins the keys of the row `n`, in order. OFFSET 0 prevents a plan, made for empty tables, that reads all keys. */
const KEYS =
  'LEFT JOIN LATERAL (SELECT * FROM vault.tenant_key WHERE tenant = n.tenant ORDER BY key_id OFFSET 0) k ON true';

export const TENANT_READS = named({
  findTenant: `SELECT ${TENANT.of('n')}, ${KEY.of('k')} FROM (SELECT * FROM vault.tenant WHERE id = $1 OFFSET 0) n ${KEYS}`,
  findAuthority: `SELECT ${APPLICATION_KEY_ROW.of('c')}, ${APPLICATION_ROW.of('a')}, ${TENANT.of('n')}, ${KEY.of('k')}
      FROM (SELECT * FROM vault.application_key WHERE hash = $1 OFFSET 0) c
      JOIN LATERAL (SELECT * FROM vault.application WHERE tenant = c.tenant AND id = c.application_id OFFSET 0) a ON true
      JOIN LATERAL (SELECT * FROM vault.tenant WHERE tenant = a.tenant OFFSET 0) n ON true ${KEYS}
      WHERE (c.expires_at IS NULL OR c.expires_at > $2) AND (a.expires_at IS NULL OR a.expires_at > $2)`,
});
const LIST_IDS = 'SELECT id FROM vault.tenant ORDER BY created_at, id';

const GENERATION = 'SELECT generation FROM vault.header';
const INSERT = numbered(`${TENANT.insertInto('vault.tenant', 'data_key_id', 'index_key_id')} RETURNING tenant`);
const INSERT_TENANT_KEY = numbered(KEY.insertInto('vault.tenant_key', 'tenant'));
const REPLACE = numbered(`UPDATE vault.tenant SET ${TENANT.assigned()} WHERE tenant = ? AND revision = ? RETURNING 1`);

/** The removals of a tenant, except of its tokens: `purgeTokens` removes these, which nobody can open any more. */
const REMOVALS: readonly string[] = [
  'INSERT INTO vault.purge SELECT $1, 0 WHERE EXISTS (SELECT 1 FROM vault.token WHERE tenant = $1)',
  ...['reply', 'token_count', 'container_set', 'application_key', 'application', 'tenant_key', 'tenant'].map(
    (table) => `DELETE FROM vault.${table} WHERE tenant = $1`,
  ),
];

const KEY_IDS = 'SELECT key_id, purpose FROM vault.tenant_key WHERE tenant = $1';
const setNewest = (purpose: WrappedKey['purpose']) =>
  `UPDATE vault.tenant SET ${purpose}_key_id = $2 WHERE tenant = $1`;
const IS_IN_USE = `SELECT EXISTS (SELECT 1 FROM vault.token_count WHERE tenant = $1 AND (key_id = $2 OR index_key_id = $2)
      GROUP BY type, key_id, index_key_id HAVING sum(live) <> 0)
    OR EXISTS (SELECT 1 FROM vault.application WHERE tenant = $1 AND key_id = $2)
    OR EXISTS (SELECT 1 FROM vault.application_key WHERE tenant = $1 AND key_id = $2)
    OR EXISTS (SELECT 1 FROM vault.reply WHERE tenant = $1 AND key_id = $2)
    OR EXISTS (SELECT 1 FROM vault.tenant WHERE tenant = $1 AND key_id = $2)`;
/** Removes a key. The container sets under an index key have no more tokens. */
const REMOVE_KEY = `WITH sets AS (DELETE FROM vault.container_set WHERE tenant = $1 AND index_key_id = $2)
    DELETE FROM vault.tenant_key WHERE tenant = $1 AND key_id = $2`;

/** Key ids only grow, so a row under an older key has a lower key id. */
const COUNT_STALE = `SELECT (SELECT coalesce(sum(live), 0) FROM vault.token_count
    WHERE tenant = n.tenant AND (key_id < $2 OR index_key_id < $3))::bigint
  + (SELECT count(*) FROM vault.application WHERE tenant = n.tenant AND key_id < $2)
  + (SELECT count(*) FROM vault.application_key WHERE tenant = n.tenant AND key_id < $2)
  + (SELECT count(*) FROM vault.reply WHERE tenant = n.tenant AND key_id < $2) + (n.key_id < $2)::integer
FROM vault.tenant n WHERE n.id = $1`;
/** Resolves to whether the current master key wraps the keys. It cannot unwrap keys under a former master key. */
async function areCurrent(run: Run, keys: readonly WrappedKey[]): Promise<boolean> {
  const current = firstValue(await run(GENERATION));
  return keys.every(({ generation }) => generation === current);
}

function insertTenantKey(run: Run, tenant: number, key: WrappedKey) {
  return run(INSERT_TENANT_KEY, [...KEY.values(key), tenant]);
}

function newest(keys: readonly WrappedKey[], purpose: WrappedKey['purpose']): number | undefined {
  const ids = keys.filter((key) => key.purpose === purpose).map(({ key_id }) => key_id);
  return ids.length === 0 ? undefined : Math.max(...ids);
}

export function tenantMethods(connections: Connections) {
  return {
    insertTenant: (record, keys, { application, key }, audit) =>
      connections.change(async (transaction) => {
        const { run } = transaction;
        const [dataKey, indexKey] = [newest(keys, 'data'), newest(keys, 'index')];
        const isCurrent = dataKey === record.key_id && indexKey !== undefined && (await areCurrent(run, keys));
        if (!isCurrent) throw new Problem('write_conflict');
        const tenant = storedNumber(firstValue(await run(INSERT, [...TENANT.values(record), dataKey, indexKey])));
        await Promise.all(keys.map((one) => insertTenantKey(run, tenant, one)));
        await insertApplication(run, application);
        await insertKey(run, key);
        await transaction.record(audit);
      }),

    findTenant: async (id) => toTenantWithKeys(await connections.read(TENANT_READS.findTenant, [uuidKey(id)])),

    listTenantIds: async () => (await connections.readSlow(LIST_IDS)).map(([id]) => uuid.read(id)),

    async findAuthority(keyHash, now) {
      const rows = await connections.read(TENANT_READS.findAuthority, [keyHash, now]);
      const at = APPLICATION_KEY_ROW.names.length;
      const owner = toTenantWithKeys(rows, at + APPLICATION_ROW.names.length);
      if (owner === undefined) return undefined;
      const { id } = owner.tenant;
      const [row = []] = rows;
      return { key: toApplicationKeyRecord(id, row), application: toApplicationRecord(id, row.slice(at)), ...owner };
    },

    replaceTenant: (record, expectedRevision, audit) =>
      changeTenant(connections, record.id, audit, async ({ run }, found) => {
        if (found.dataKey !== record.key_id) throw new Problem('write_conflict');
        const changed = await run(REPLACE, [...TENANT.changes(record), found.tenant, expectedRevision]);
        return changed.length > 0;
      }),

    deleteTenant: (id, audit) =>
      changeTenant(connections, id, audit, async ({ run }, { tenant }) => {
        await Promise.all(REMOVALS.map((removal) => run(removal, [tenant])));
        return true;
      }),

    addTenantKey: (tenantId, key, audit) =>
      changeTenant(connections, tenantId, audit, async ({ run }, { tenant }) => {
        const others = await run(KEY_IDS, [tenant]);
        if (others.some(([id]) => storedNumber(id) >= key.key_id) || !(await areCurrent(run, [key]))) return false;
        await insertTenantKey(run, tenant, key);
        await run(setNewest(key.purpose), [tenant, key.key_id]);
        return true;
      }),

    removeTenantKey: (tenantId, keyId, audit) =>
      changeTenant(connections, tenantId, audit, async ({ run }, { tenant }) => {
        const keys = await run(KEY_IDS, [tenant]);
        const purpose = keys.find(([id]) => id === keyId)?.[1];
        const isReplaced = keys.some(([id, other]) => other === purpose && storedNumber(id) > keyId);
        const isUsed = async () => firstValue(await run(IS_IN_USE, [tenant, keyId])) !== false;
        if (purpose === undefined || !isReplaced || (await isUsed())) return false;
        await run(REMOVE_KEY, [tenant, keyId]);
        return true;
      }),

    countStale: async (tenantId, { key_id, index_key_id }) =>
      storedNumber(firstValue(await connections.readSlow(COUNT_STALE, [uuidKey(tenantId), key_id, index_key_id])) ?? 0),
  } satisfies Partial<Store>;
}
