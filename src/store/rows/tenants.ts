import type { Store, TenantWithKeys, WrappedKey } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { insertKey } from './application-keys.ts';
import { insertApplication } from './applications.ts';
import type { Dialect, SharedParts } from './dialect.ts';
import { raw, sql } from './fragment.ts';
import { KEY } from './record-columns.ts';
import { askRows, askValue, askWhether, isUnexpired, type Row, type StoreSteps } from './store-steps.ts';
import { MAX_ROW, readable, storedNumber } from './stored-value.ts';
import { changeTenant, requireNewestKey } from './tenant-number.ts';

/** Returns whether the current master key wraps the keys. It cannot unwrap keys under a former master key. */
function* areCurrent(keys: readonly WrappedKey[]): StoreSteps<boolean> {
  const current = yield* askValue(sql`SELECT generation FROM vault.header`);
  return keys.every(({ generation }) => generation === current);
}

function newest(keys: readonly WrappedKey[], purpose: WrappedKey['purpose']): number | undefined {
  const ids = keys.filter((key) => key.purpose === purpose).map(({ key_id }) => key_id);
  return ids.length === 0 ? undefined : Math.max(...ids);
}

const inserted = (key: WrappedKey, tenant: number) => ({
  sql: KEY.insertInto('vault.tenant_key', 'tenant'),
  params: [...KEY.values(key), tenant],
});

/** Destroys a replaced key of a tenant. Returns false while a record uses it, and if no later key replaces it. */
export function* removeKey({ counters, keyRemovals }: Dialect, tenant: number, keyId: number): StoreSteps<boolean> {
  const keys = yield* askRows(sql`SELECT key_id, purpose FROM vault.tenant_key WHERE tenant = ${tenant}`);
  const purpose = keys.find(([id]) => id === keyId)?.[1];
  const isReplaced = keys.some(([id, other]) => other === purpose && storedNumber(id) > keyId);
  if (purpose === undefined || !isReplaced) return false;
  const underKey = ['application', 'application_key', 'reply', 'tenant'].map(
    (table) => sql`SELECT 1 FROM ${raw(`vault.${table}`)} WHERE tenant = ${tenant} AND key_id = ${keyId} LIMIT 1`,
  );
  const tokens = sql`SELECT 1 FROM ${raw(counters)} c WHERE tenant = ${tenant}
    AND (key_id = ${keyId} OR index_key_id = ${keyId}) GROUP BY type, key_id, index_key_id HAVING sum(live) <> 0`;
  if ((yield [tokens, ...underKey]).flat().length > 0) return false;
  yield keyRemovals.map((text) => ({ sql: text, params: [tenant, keyId] }));
  return true;
}

export function tenantMethods(parts: SharedParts) {
  const { dialect, read, readSlow, change } = parts;
  const { tables, uuidKey, lookup, removals, lastTenant, hasNewestKeys, counters } = dialect;
  const { tenant: TENANT, application: APPLICATION, application_key: APPLICATION_KEY } = tables;
  const tenantColumns = raw(`${TENANT.of('n')}, ${KEY.of('k')}`);
  const keys = lookup('tenant_key', 'k', raw('k.tenant = n.tenant'), 'LEFT');
  // These texts are made once, because calls need them.
  const { sql: findTenant } = sql`SELECT ${tenantColumns}
    FROM (SELECT * FROM vault.tenant WHERE id = ${null} OFFSET 0) n ${keys}`;
  const { sql: findAuthority } =
    sql`SELECT ${raw(`${APPLICATION_KEY.of('c')}, ${APPLICATION.of('a')}`)}, ${tenantColumns}
    FROM (SELECT * FROM vault.application_key WHERE hash = ${null} OFFSET 0) c
    ${lookup('application', 'a', raw('a.tenant = c.tenant AND a.id = c.application_id'))}
    ${lookup('tenant', 'n', raw('n.tenant = a.tenant'))} ${keys}
    WHERE ${isUnexpired('c', 0)} AND ${isUnexpired('a', 0)}`;

  /** Reads the rows of one tenant, one for each of its keys. The columns of the tenant begin at `at`. */
  function toTenantWithKeys(rows: readonly Row[], at = 0): TenantWithKeys | undefined {
    const [first] = rows;
    if (first === undefined) return undefined;
    const found = rows.map((row) => row.slice(at + TENANT.names.length)).filter(([id]) => id !== null);
    const own = found.map((key) => KEY.read(key, {})).sort((a, b) => a.key_id - b.key_id);
    return { tenant: TENANT.read(first.slice(at), {}), keys: own };
  }

  return {
    insertTenant: (record, wrapped, { application, key }, audit) =>
      change('added', function* () {
        const [dataKey, indexKey] = [newest(wrapped, 'data'), newest(wrapped, 'index')];
        const isCurrent = dataKey === record.key_id && indexKey !== undefined && (yield* areCurrent(wrapped));
        if (!isCurrent) throw new Problem('write_conflict');
        const last = lastTenant === undefined ? 0 : yield* askValue(raw(lastTenant));
        // An edit of the file has left no number.
        if (storedNumber(last) >= MAX_ROW) throw new Problem('integrity_failure');
        const newestKeys = hasNewestKeys ? { data_key_id: dataKey, index_key_id: indexKey } : {};
        const text = TENANT.insertInto('vault.tenant', ...Object.keys(newestKeys));
        const params = [...TENANT.values(record), ...Object.values(newestKeys)];
        const tenant = storedNumber(yield* askValue({ sql: `${text} RETURNING tenant`, params }));
        yield wrapped.map((one) => inserted(one, tenant));
        const found = { tenant_id: record.id, tenant, dataKey };
        yield* insertApplication(dialect, found, application);
        yield* insertKey(dialect, found, key);
        yield { entry: audit };
      }),

    findTenant: (id) =>
      read(function* () {
        return toTenantWithKeys(yield* askRows({ name: 'findTenant', sql: findTenant, params: [uuidKey(id)] }));
      }),

    listTenantIds: () =>
      readSlow(function* () {
        const rows = yield* askRows(raw('SELECT id FROM vault.tenant ORDER BY created_at, id'));
        return readable(rows, ([id]) => dialect.tables.uuid.read(id));
      }),

    findAuthority: (keyHash, now) =>
      read(function* () {
        const rows = yield* askRows({ name: 'findAuthority', sql: findAuthority, params: [keyHash, now, now] });
        const at = APPLICATION_KEY.names.length;
        const owner = toTenantWithKeys(rows, at + APPLICATION.names.length);
        if (owner === undefined) return undefined;
        const tenant = { tenant_id: owner.tenant.id };
        const [row = []] = rows;
        const application = APPLICATION.read(row.slice(at), tenant);
        return { key: APPLICATION_KEY.read(row, tenant), application, ...owner };
      }),

    replaceTenant: (record, expectedRevision, audit) =>
      changeTenant(parts, 'removed', [record.id, audit], function* (found) {
        requireNewestKey(found, record);
        return yield* askWhether({
          sql: `UPDATE vault.tenant SET ${TENANT.assigned()} WHERE tenant = ? AND revision = ? RETURNING 1`,
          params: [...TENANT.changes(record), found.tenant, expectedRevision],
        });
      }),

    deleteTenant: (id, audit) =>
      changeTenant(parts, 'destroyed', [id, audit], function* ({ tenant }) {
        yield removals.map((text) => ({ sql: text, params: [tenant] }));
        return true;
      }),

    addTenantKey: (tenantId, key, audit) =>
      changeTenant(parts, 'added', [tenantId, audit], function* ({ tenant }) {
        const later = sql`SELECT 1 FROM vault.tenant_key WHERE tenant = ${tenant} AND key_id >= ${key.key_id}`;
        if ((yield* askWhether(later)) || !(yield* areCurrent([key]))) return false;
        const column = raw(`${key.purpose}_key_id`);
        const newestKey = sql`UPDATE vault.tenant SET ${column} = ${key.key_id} WHERE tenant = ${tenant}`;
        yield [inserted(key, tenant), ...(hasNewestKeys ? [newestKey] : [])];
        return true;
      }),

    removeTenantKey: (tenantId, keyId, audit) =>
      changeTenant(parts, 'destroyed', [tenantId, audit], ({ tenant }) => removeKey(dialect, tenant, keyId)),

    countStale: (tenantId, { key_id, index_key_id }) =>
      readSlow(function* () {
        // Key ids only grow, so a row under an older key has a lower key id.
        const stale = ['application', 'application_key', 'reply', 'tenant'].map(
          (table) => sql`SELECT count(*) FROM vault.tenant n JOIN ${raw(`vault.${table}`)} r ON r.tenant = n.tenant
            WHERE n.id = ${uuidKey(tenantId)} AND r.key_id < ${key_id}`,
        );
        const tokens = sql`SELECT CAST(coalesce(sum(c.live), 0) AS bigint) FROM vault.tenant n
          JOIN ${raw(counters)} c ON c.tenant = n.tenant
          WHERE n.id = ${uuidKey(tenantId)} AND (c.key_id < ${key_id} OR c.index_key_id < ${index_key_id})`;
        const counts = (yield [tokens, ...stale]).flat(2).map(storedNumber);
        return counts.reduce((sum, count) => sum + count, 0);
      }),
  } satisfies Partial<Store>;
}
