import type { ApplicationKeyRecord, Removal } from '../../core/application-ports.ts';
import type { EndedRecord } from '../../core/audit/ports.ts';
import type { Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Dialect, SharedParts } from './dialect.ts';
import { type Fragment, raw, sql } from './fragment.ts';
import { askRows, askValue, askWhether, isUnexpired, type StoreSteps } from './store-steps.ts';
import { requireFree } from './stored-replies.ts';
import { readable, storedNumber } from './stored-value.ts';
import {
  changeTenant,
  findTenantNumber,
  numberOfTenant,
  requireNewestKey,
  type TenantNumber,
} from './tenant-number.ts';

/**
 * Inserts a key. Returns false unless the application has made as many keys as the version of this key requires. Throws
 * `write_conflict` unless the key is under the tenant's newest data key.
 */
export function* insertKey(dialect: Dialect, found: TenantNumber, record: ApplicationKeyRecord): StoreSteps<boolean> {
  const { tables, uuidKey } = dialect;
  requireNewestKey(found, record);
  const isNext = yield* askWhether(sql`UPDATE vault.application SET key_version = ${record.version}
    WHERE tenant = ${found.tenant} AND id = ${uuidKey(record.application_id)} AND key_version = ${record.version - 1}
    RETURNING 1`);
  if (!isNext) return false;
  const { application_key } = tables;
  const params = [...application_key.values(record), found.tenant];
  yield [{ sql: application_key.insertInto('vault.application_key', 'tenant'), params }];
  return true;
}

/** Removes the genuine keys of applications, except the key `kept`, and returns them. */
export function* removeKeysOf(
  { tables, among }: Dialect,
  { tenant_id, tenant }: TenantNumber,
  applicationIds: readonly string[],
  { isGenuine }: Removal,
  kept?: string,
): StoreSteps<readonly EndedRecord[]> {
  const rows = yield* askRows(sql`SELECT ${raw(tables.application_key.of('k'))} FROM vault.application_key k
    WHERE k.tenant = ${tenant} AND ${among('k.application_id', 'uuid', applicationIds)}`);
  const ended = readable(rows, (row) => tables.application_key.read(row, { tenant_id })).filter(
    (record) => record.id !== kept && isGenuine(record),
  );
  const ids = ended.map(({ id }) => id);
  yield [sql`DELETE FROM vault.application_key WHERE tenant = ${tenant} AND ${among('id', 'uuid', ids)}`];
  return ended.map(({ id, revision }) => ({ id, revision }));
}

export function applicationKeyMethods(parts: SharedParts) {
  const { dialect, read, change } = parts;
  const { tables, uuidKey, lookup, among } = dialect;
  const { application_key: ROW } = tables;

  /** Finds the keys `k` of a tenant that meet a condition. */
  function* find(name: string, tenant_id: string, condition: Fragment, rest: Fragment) {
    const found = sql`SELECT ${raw(ROW.of('k'))} FROM ${numberOfTenant(dialect, tenant_id)} n
      ${lookup('application_key', 'k', sql`k.tenant = n.tenant AND ${condition}`)} ${rest}`;
    return (yield* askRows({ name, ...found })).map((row) => ROW.read(row, { tenant_id }));
  }

  return {
    findApplicationKey: (tenantId, id) =>
      read(function* () {
        const [key] = yield* find('findApplicationKey', tenantId, sql`k.id = ${uuidKey(id)}`, raw(''));
        return key;
      }),

    findApplicationKeys: (tenantId, applicationId, now) => {
      const live = sql`WHERE ${isUnexpired('k', now)} ORDER BY k.version DESC`;
      const isOwn = sql`k.application_id = ${uuidKey(applicationId)}`;
      return read(() => find('findApplicationKeys', tenantId, isOwn, live));
    },

    insertApplicationKey: (key, { most, now }, audit) =>
      changeTenant(parts, 'added', [key.tenant_id, audit], function* (found) {
        yield* requireFree(dialect, audit);
        const live = yield* askValue(sql`SELECT count(*) FROM vault.application_key k
          WHERE k.tenant = ${found.tenant} AND k.application_id = ${uuidKey(key.application_id)}
            AND ${isUnexpired('k', now)}`);
        if (storedNumber(live) >= most) throw new Problem('too_many_keys');
        return yield* insertKey(dialect, found, key);
      }),

    markKeysUsed: (tenantId, ids, day) =>
      change('added', function* () {
        yield [
          sql`UPDATE vault.application_key SET last_used_day = ${day}
            WHERE tenant = ${numberOfTenant(dialect, tenantId)} AND ${among('id', 'uuid', ids)} AND last_used_day < ${day}`,
        ];
      }),

    resealApplicationKeys: (tenantId, keys) =>
      change('removed', function* () {
        const [found] = yield* findTenantNumber(dialect, tenantId);
        if (found === undefined) return 0;
        for (const key of keys) requireNewestKey(found, key);
        const resealed = yield keys.map((key) => ({
          sql: `UPDATE vault.application_key SET ${ROW.assigned()} WHERE tenant = ? AND id = ? RETURNING 1`,
          params: [...ROW.changes(key), found.tenant, uuidKey(key.id)],
        }));
        return resealed.flat().length;
      }),
  } satisfies Partial<Store>;
}
