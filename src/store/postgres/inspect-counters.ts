import type { Finding } from '../../core/maintenance-ports.ts';
import { storedNumber } from '../rows/stored-value.ts';
import type { Run } from './connections.ts';
import type { Row } from './sql-client.ts';

/** Returns the statement that counts the rows of `token` in `from`, for `CounterCheck.add`. */
export function countTokens(from: string): string {
  return `SELECT tenant, type, key_id, index_key_id, active_month, count(*) FILTER (WHERE deleted_at IS NULL),
    max(created_at) FROM ${from} GROUP BY tenant, type, key_id, index_key_id, active_month`;
}

/** Selects the sums of the counters over all chains. */
const COUNTERS = `SELECT tenant, type, key_id, index_key_id, month, sum(live)::bigint, sum(active)::bigint, max(last_created_at)
    FROM vault.token_count GROUP BY tenant, type, key_id, index_key_id, month`;
const TENANTS = 'SELECT tenant, id::text FROM vault.tenant';

/**
 * Returns a check that compares the counters with the numbers of tokens. Call `add` for each step of the count, then
 * `findings`.
 */
export function inspectCounters() {
  /** By tenant, type and keys: the number of live tokens minus their counter. */
  const live = new Map<string, number>();
  /** By tenant and month: the number of active tokens minus their counter. */
  const active = new Map<string, number>();
  /** By tenant and type: the last times of creation of the tokens and of the counters. */
  const tokens = new Map<string, number>();
  const counters = new Map<string, number>();
  const plus = (sums: Map<string, number>, name: string, count: number) =>
    sums.set(name, (sums.get(name) ?? 0) + count);
  const latest = (times: Map<string, number>, name: string, at: number) =>
    times.set(name, Math.max(times.get(name) ?? 0, at));

  function read(row: Row) {
    const [tenant, type, key, indexKey, month, ...values] = row.map(storedNumber);
    const ofType = `${tenant} type ${type}`;
    return { ofType, ofKeys: `${ofType} keys ${key} ${indexKey}`, ofMonth: `${tenant} month ${month}`, values };
  }

  return {
    /** Adds the rows of `countTokens`. */
    add(rows: readonly Row[]) {
      for (const row of rows) {
        const { ofType, ofKeys, ofMonth, values } = read(row);
        const [count = 0, last = 0] = values;
        plus(live, ofKeys, count);
        plus(active, ofMonth, count);
        latest(tokens, ofType, last);
      }
    },

    /** Compares all counters with the added rows. */
    async findings(run: Run): Promise<readonly Finding[]> {
      const [rows, tenants] = await Promise.all([run(COUNTERS), run(TENANTS)]);
      for (const row of rows) {
        const { ofType, ofKeys, ofMonth, values } = read(row);
        const [liveCount = 0, activeCount = 0, last = 0] = values;
        plus(live, ofKeys, -liveCount);
        plus(active, ofMonth, -activeCount);
        latest(counters, ofType, last);
      }
      const ids = new Map(tenants.map(([tenant, id]) => [String(tenant), String(id)]));
      const finding = (name: string, what: string): Finding => {
        const [tenant = '', kind, value] = name.split(' ');
        return { table: 'token_count', id: `${ids.get(tenant) ?? `number ${tenant}`} ${kind} ${value}`, what };
      };
      const types = new Set([...tokens.keys(), ...counters.keys()]);
      return [
        ...[...live]
          .filter(([, difference]) => difference !== 0)
          .map(([name]) => finding(name, 'the counter of a type differs from the number of its tokens')),
        ...[...types]
          .filter((name) => (tokens.get(name) ?? 0) !== (counters.get(name) ?? 0))
          .map((name) => finding(name, 'the last creation time of a type differs from that of its last token')),
        ...[...active]
          .filter(([, difference]) => difference > 0)
          .map(([name]) => finding(name, 'the counter of a month is lower than the number of its tokens')),
      ];
    },
  };
}
