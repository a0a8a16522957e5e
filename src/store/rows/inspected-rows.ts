import type { InspectedRecords } from '../../core/key-holder-ports.ts';
import type { Store } from '../../core/ports.ts';
import { decoded } from '../../core/problem.ts';
import { readerOf, type SharedParts } from './dialect.ts';
import { type Fragment, raw, sql } from './fragment.ts';
import { askRows, type Row } from './store-steps.ts';
import { storedBytes, storedNumber, storedText } from './stored-value.ts';
import { findTenantNumber } from './tenant-number.ts';

/** Where rows are found, and what orders them. */
interface Source {
  /** The rows `t`. Ends with a condition. */
  readonly from: Fragment;
  /** The columns of the id, in order. */
  readonly key: string;
  /** Converts an id to the values of its columns. */
  readonly toKey: (id: string) => Fragment;
  readonly idOf: (row: Row) => string;
}

/** Returns the functions that read a tenant's rows after the id `after`, in order of id. */
export function inspectionMethods({ dialect, inspectSnapshot }: SharedParts) {
  const { uuidKey, by, liveTokens, tombstones } = dialect;
  const { uuid } = dialect.tables;
  const byText = { key: 't.id', toKey: (id: string) => sql`${id}`, idOf: ([id]: Row) => storedText(id) };
  const byUuid = { key: 't.id', toKey: (id: string) => sql`${uuidKey(id)}`, idOf: ([id]: Row) => uuid.read(id) };

  const SOURCES: Readonly<Record<keyof InspectedRecords, Source>> = {
    token: { ...byText, from: sql`${raw(liveTokens[0])} t ${by('token_id')} WHERE ${raw(liveTokens[1])}` },
    tombstone: { ...byText, from: raw(`${tombstones[0]} t WHERE ${tombstones[1]}`) },
    application: { ...byUuid, from: raw('vault.application t WHERE TRUE') },
    application_key: { ...byUuid, from: raw('vault.application_key t WHERE TRUE') },
    reply: {
      from: raw('vault.reply t WHERE TRUE'),
      key: 't.application_id, t.key_hash',
      toKey(id) {
        const [applicationId = '', keyHash = ''] = id.split(' ');
        return sql`${uuidKey(applicationId)}, ${Buffer.from(keyHash, 'hex')}`;
      },
      idOf: ([applicationId, keyHash]) => `${uuid.read(applicationId)} ${storedBytes(keyHash).toString('hex')}`,
    },
  };

  /** Returns the statement of a page of rows. */
  function pageOf(columns: string, { from, key, toKey }: Source, [tenant, after, limit]: [number, string, number]) {
    const isAfter = after === '' ? raw('TRUE') : sql`(${raw(key)}) > (${toKey(after)})`;
    return sql`SELECT ${raw(columns)} FROM ${from} AND t.tenant = ${tenant} AND ${isAfter}
      ORDER BY ${raw(key)} LIMIT ${limit}`;
  }

  return {
    inspectRows: (table, tenantId, after, limit) =>
      inspectSnapshot(function* () {
        const [found] = yield* findTenantNumber(dialect, tenantId);
        if (found === undefined) return [];
        const { columns, decode } = readerOf(dialect, table);
        const isToken = table === 'token';
        const all = isToken ? `${columns}, ${dialect.blindColumns}` : columns;
        const rows = yield* askRows(pageOf(all, SOURCES[table], [found.tenant, after, limit]));
        return rows.map((row) => ({
          id: SOURCES[table].idOf(row),
          record: decoded(() => decode(tenantId, row)),
          indexes: (isToken && decoded(() => dialect.toBlinds(found.tenant, row))) || [],
        }));
      }),

    revisionsOf: (table, tenantId, after, limit) =>
      inspectSnapshot(function* () {
        const end = raw('SELECT max(sequence) FROM vault.audit');
        const [found, [[last] = []] = []] = yield* findTenantNumber(dialect, tenantId, end);
        const columns = table === 'token' ? 't.id, t.revision' : 't.id, 1';
        const rows = found ? yield* askRows(pageOf(columns, SOURCES[table], [found.tenant, after, limit])) : [];
        return {
          head: storedNumber(last),
          rows: rows.map(([id, revision]) => ({ id: storedText(id), revision: storedNumber(revision) })),
        };
      }),
  } satisfies Partial<Store>;
}
