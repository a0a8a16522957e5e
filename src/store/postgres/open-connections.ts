import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../core/problem.ts';
import { type ConnectOptions, connectStore } from './connect.ts';
import type { Connections, Run } from './connections.ts';
import { holdConnection, slowPool } from './held-connection.ts';
import { type LaneOptions, openLane } from './lane.ts';
import { retryRead, stopping } from './retry.ts';
import { findVault, inSchema, requireVault } from './schema.ts';
import type { SqlClient, Statement } from './sql-client.ts';
import type { StoreUrl } from './store-url.ts';

/**
 * The time limits of a statement in milliseconds, by the use of its connection. Transactions of the lane set lower
 * ones.
 */
export const LIMITS = { reader: 5000, slow: 30_000, lane: 70_000, inspection: 24 * 60 * 60 * 1000 } as const;

/** The maximum number of connections for slow reads. */
const SLOW = 4;

const PING_LIMIT_MS = 2000;

export type StoreOptions = Omit<ConnectOptions, 'timeout'> & Pick<LaneOptions, 'writesOnRoot'>;

/** Connects with statements that name the configured schema. */
export async function connectTo(url: StoreUrl, limit: number, options: StoreOptions): Promise<SqlClient> {
  const client = await connectStore(url, { ...options, timeout: limit });
  const texts = new Map<string, string>();
  function rename(statement: Statement): Statement {
    // Do not keep composed texts, which have no name: there may be many.
    if (typeof statement === 'string') return inSchema(statement, url.schema);
    const { name, text } = statement;
    const renamed = texts.get(text) ?? inSchema(text, url.schema);
    texts.set(text, renamed);
    return { name, text: renamed };
  }
  return { ...client, run: (statement, values) => client.run(rename(statement), values) };
}

/**
 * Returns the connections of the vault with this id: one for all writes, one for quick reads, and a few for other
 * reads. Each opens on first use, except `first` for quick reads, which is already open.
 */
export function openConnections(url: StoreUrl, options: StoreOptions, vaultId: string, first: SqlClient): Connections {
  /** Checks each new connection: the database may hold another vault by now. */
  const connect = (limit: number) => async (): Promise<SqlClient> => {
    const client = await connectTo(url, limit, options);
    try {
      requireVault(await findVault(client.run), vaultId);
      return client;
    } catch (error) {
      client.destroy();
      throw error;
    }
  };

  const reader = holdConnection(connect(LIMITS.reader), first);
  const writer = holdConnection(connect(LIMITS.lane));
  const pool = slowPool(connect(LIMITS.slow), SLOW);
  const inspection = slowPool(connect(LIMITS.inspection), 1);
  const lane = openLane(writer, dropAll, { writesOnRoot: options.writesOnRoot });
  const active = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  function dropAll(): void {
    for (const each of [reader, writer, pool, inspection]) each.drop();
  }

  /** Runs a read. Refuses it after `close`, and makes `close` wait for it. */
  async function track<T>(read: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw stopping();
    const reading = retryRead(read, dropAll);
    active.add(reading);
    try {
      return await reading;
    } finally {
      active.delete(reading);
    }
  }

  const read: Run = (statement, values) => track(async () => (await reader.get()).run(statement, values));

  const readSnapshot: Connections['readSnapshot'] = (query) => track(() => pool.snapshot(query));

  async function close(): Promise<void> {
    await lane.close();
    await Promise.allSettled(active);
    await Promise.all([reader, writer, pool, inspection].map((each) => each.close()));
  }

  return {
    ...lane,
    read,
    readSlow: (statement, values) => readSnapshot((run) => run(statement, values)),
    readSnapshot,
    inspectSnapshot: (query) => track(() => inspection.snapshot(query)),

    async ping() {
      const found = await Promise.race([
        track(async () => findVault((await reader.get()).run)),
        sleep(PING_LIMIT_MS, undefined, { ref: false }),
      ]);
      if (found?.isReadOnly === true) dropAll();
      if (found === undefined || found.isReadOnly) throw new Problem('vault_busy', { retryAfter: 1 });
      requireVault(found, vaultId);
    },

    close() {
      closing ??= close();
      return closing;
    },
  };
}
