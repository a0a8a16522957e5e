import type { EndedApplications, Minting, Removal } from '../../core/application-ports.ts';
import type { ApplicationRecord, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { insertKey, removeKeysOf } from './application-keys.ts';
import type { Dialect, SharedParts } from './dialect.ts';
import { join, raw, sql } from './fragment.ts';
import { Rollback } from './rollback.ts';
import { askAll, askRows, askWhether, isUnexpired, type StoreSteps } from './store-steps.ts';
import { removeRepliesOf } from './stored-replies.ts';
import { optionally, readable, storedInstant, storedNumber } from './stored-value.ts';
import {
  changeTenant,
  findTenantNumber,
  numberOfTenant,
  requireNewestKey,
  type TenantNumber,
} from './tenant-number.ts';
import { APPLICATION_TYPE_CODES } from './type-codes.ts';

/**
 * Removes the applications that an application created (with `keyId`: only those created with this key), the keys of
 * all removed applications, and the replies to them. Writes the entry of all that the change has removed.
 */
function* endApplications(
  dialect: Dialect,
  tenant: TenantNumber,
  { id, keyId }: { readonly id: string; readonly keyId?: string },
  removal: Removal,
  { applications, keys }: EndedApplications,
): StoreSteps<void> {
  const { tables, uuidKey, among } = dialect;
  const found = yield* askRows(sql`SELECT ${raw(tables.application.of('a'))} FROM vault.application a
    WHERE a.tenant = ${tenant.tenant} AND a.parent_id = ${uuidKey(id)}`);
  const { tenant_id } = tenant;
  const children = readable(found, (row) => tables.application.read(row, { tenant_id })).filter(
    (child) => (keyId === undefined || child.parent_key_id === keyId) && removal.isGenuine(child),
  );
  const childIds = children.map((child) => child.id);
  yield [sql`DELETE FROM vault.application WHERE tenant = ${tenant.tenant} AND ${among('id', 'uuid', childIds)}`];
  const ended = [...applications, ...children];
  const ids = ended.map((one) => one.id);
  const all = [...keys, ...(yield* removeKeysOf(dialect, tenant, ids, removal))];
  if (ended.length + all.length === 0) return;
  yield { entry: removal.entry({ applications: ended, keys: all }) };
  yield [removeRepliesOf(dialect, tenant.tenant, ids)];
}

/** Throws `too_many_requests` when an application already has the most live expiring applications. */
function* requireQuota(
  { uuidKey }: Dialect,
  tenant: number,
  parentId: string,
  { most, now, latest }: Minting,
): StoreSteps<void> {
  const [[count, next] = []] = yield* askRows(sql`SELECT count(*), min(expires_at) FROM vault.application
    WHERE tenant = ${tenant} AND parent_id = ${uuidKey(parentId)} AND expires_at > ${now} AND expires_at <= ${latest}`);
  const live = storedNumber(count);
  if (live < most) return;
  // The time when the first of them ends.
  const first = optionally(storedInstant)(next) ?? now;
  throw new Problem('too_many_requests', {
    detail: `The application has ${live} valid expiring applications, and may have ${most}.`,
    retryAfter: Math.max(1, Math.ceil((first - now) / 1000)),
  });
}

/**
 * Inserts an application. Throws `write_conflict` unless it is under the tenant's newest data key, and
 * `unauthenticated` if its creator or the creator's key is gone: that change would no longer end it.
 */
export function* insertApplication(
  dialect: Dialect,
  found: TenantNumber,
  record: ApplicationRecord,
  minting?: Minting,
): StoreSteps<void> {
  const { tables, uuidKey } = dialect;
  const { parent_id, parent_key_id = '' } = record;
  requireNewestKey(found, record);
  if (parent_id !== undefined) {
    const hasKey = yield* askWhether(sql`SELECT 1 FROM vault.application_key
      WHERE tenant = ${found.tenant} AND application_id = ${uuidKey(parent_id)} AND id = ${uuidKey(parent_key_id)}`);
    if (!hasKey) throw new Problem('unauthenticated');
    if (minting) yield* requireQuota(dialect, found.tenant, parent_id, minting);
  }
  const params = [...tables.application.values(record), found.tenant];
  yield [{ sql: tables.application.insertInto('vault.application', 'tenant'), params }];
}

export function applicationMethods(parts: SharedParts) {
  const { dialect, read, readSlow, change } = parts;
  const { tables, uuidKey, lookup, among } = dialect;
  const { application: ROW } = tables;
  const columns = raw(ROW.of('a'));

  return {
    insertApplication: (application, audit, { key, minting } = {}) =>
      change('added', function* () {
        const [found] = yield* findTenantNumber(dialect, application.tenant_id);
        // The API keys of a removed tenant are invalid.
        if (found === undefined) throw new Problem('unauthenticated');
        yield* insertApplication(dialect, found, application, minting);
        if (key !== undefined) yield* insertKey(dialect, found, key);
        yield { entry: audit };
      }),

    findApplication: (tenant_id, id, now) =>
      read(function* () {
        const found = sql`SELECT ${columns} FROM ${numberOfTenant(dialect, tenant_id)} n
          ${lookup('application', 'a', sql`a.tenant = n.tenant AND a.id = ${uuidKey(id)}`)} WHERE ${isUnexpired('a', now)}`;
        const [row] = yield* askRows({ name: 'findApplication', ...found });
        return row && ROW.read(row, { tenant_id });
      }),

    findApplications: ({ tenant_id, ids, types, parent_id, latest }, { offset, limit }, now) =>
      readSlow(function* () {
        const isType = types && [...new Set(types)].map((type) => sql`a.type = ${APPLICATION_TYPE_CODES[type]}`);
        const conditions = [
          sql`a.tenant = ${numberOfTenant(dialect, tenant_id)}`,
          isUnexpired('a', now),
          ...(ids === undefined ? [] : [among('a.id', 'uuid', ids)]),
          ...(isType === undefined ? [] : [join(isType, 'OR')]),
          ...(parent_id === undefined ? [] : [sql`a.parent_id = ${uuidKey(parent_id)}`]),
          ...(latest === undefined ? [] : [sql`a.expires_at <= ${latest}`]),
        ];
        const listed = sql`FROM vault.application a WHERE ${join(conditions, 'AND')}`;
        // With ids, an order that no index has: the index by time would read every application of the tenant.
        const newest = raw(`${ids === undefined ? '' : '+'}a.created_at DESC`);
        const [rows = [], [[total] = []] = []] = yield* askAll(
          sql`SELECT ${columns} ${listed} ORDER BY ${newest}, a.id LIMIT ${limit} OFFSET ${offset}`,
          sql`SELECT count(*) ${listed}`,
        );
        return { records: rows.map((row) => ROW.read(row, { tenant_id })), total: storedNumber(total) };
      }),

    replaceApplication: (application, expectedRevision, audit, regenerated) =>
      changeTenant(parts, 'removed', [application.tenant_id, audit], function* (found) {
        const { id } = application;
        requireNewestKey(found, application);
        const isReplaced = yield* askWhether({
          sql: `UPDATE vault.application SET ${ROW.assigned()} WHERE tenant = ? AND id = ? AND revision = ? RETURNING 1`,
          params: [...ROW.changes(application), found.tenant, uuidKey(id), expectedRevision],
        });
        if (!isReplaced || regenerated === undefined) return isReplaced;
        const { key, removal } = regenerated;
        if (!(yield* insertKey(dialect, found, key))) throw new Rollback(false);
        const keys = yield* removeKeysOf(dialect, found, [id], removal, key.id);
        yield* endApplications(dialect, found, { id }, removal, { applications: [], keys });
        return true;
      }),

    deleteApplication: (tenantId, id, revision, removal) =>
      changeTenant(parts, 'removed', [tenantId], function* (found) {
        const isRemoved = yield* askWhether(sql`DELETE FROM vault.application
          WHERE tenant = ${found.tenant} AND id = ${uuidKey(id)} AND revision = ${revision} RETURNING 1`);
        if (!isRemoved) return false;
        const ended = { applications: [{ id, revision }], keys: [] };
        yield* endApplications(dialect, found, { id }, removal, ended);
        return true;
      }),

    deleteApplicationKey: (tenantId, applicationId, id, removal) =>
      changeTenant(parts, 'removed', [tenantId], function* (found) {
        const [row] = yield* askRows(sql`DELETE FROM vault.application_key
          WHERE tenant = ${found.tenant} AND application_id = ${uuidKey(applicationId)} AND id = ${uuidKey(id)} RETURNING revision`);
        if (row === undefined) return false;
        const keys = [{ id, revision: storedNumber(row[0]) }];
        const creator = { id: applicationId, keyId: id };
        yield* endApplications(dialect, found, creator, removal, { applications: [], keys });
        return true;
      }),
  } satisfies Partial<Store>;
}
