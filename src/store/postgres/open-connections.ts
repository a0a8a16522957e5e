import { Problem } from '../../core/problem.ts';
import { sleep } from '../../core/timers.ts';
import { type ConnectOptions, connectStore } from './connect.ts';
import type { Connections, Run } from './connections.ts';
import { retryRead, stopping } from './retry.ts';
import { findVault, inSchema, requireVault } from './schema.ts';
import type { SqlClient, Statement } from './sql-client.ts';
import type { StoreUrl } from './store-url.ts';
import { openWriteQueue } from './write-queue.ts';

/** The limits of a statement in milliseconds, by its connection. Transactions of the write queue set lower ones. */
export const LIMITS = { reader: 5000, slow: 30_000, writer: 70_000, inspection: 24 * 60 * 60 * 1000 } as const;

/** The maximum number of connections for slow reads. */
const SLOW = 4;

const PING_LIMIT_MS = 2000;

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const END = 'COMMIT';

export type StoreOptions = Omit<ConnectOptions, 'timeout'>;

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

/** Returns the connections of the vault with this id. Each but `first`, the reader, opens on first use. */
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
  const writer = holdConnection(connect(LIMITS.writer));
  const slow = Array.from({ length: SLOW }, () => holdConnection(connect(LIMITS.slow)));
  const inspection = holdConnection(connect(LIMITS.inspection));
  const all = [reader, writer, ...slow, inspection];
  const queue = openWriteQueue(writer.get, dropAll);
  const active = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  function dropAll(): void {
    for (const each of all) each.drop();
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

  /** Returns the function that reads snapshots on these connections, each of which serves one at a time. */
  function snapshotsOn(connections: readonly HeldConnection[]): Connections['readSnapshot'] {
    const idle = [...connections];
    const waiting: ((connection: HeldConnection) => void)[] = [];

    async function snapshot<T>(query: (run: Run) => Promise<T>): Promise<T> {
      const connection = idle.pop() ?? (await new Promise<HeldConnection>((resolve) => waiting.push(resolve)));
      try {
        return await readOn(await connection.get(), query);
      } finally {
        const next = waiting.shift();
        if (next === undefined) idle.push(connection);
        else next(connection);
      }
    }

    return (query) => track(() => snapshot(query));
  }

  const readSnapshot = snapshotsOn(slow);

  async function close(): Promise<void> {
    await queue.close();
    await Promise.allSettled(active);
    await Promise.all(all.map((each) => each.close()));
  }

  return {
    ...queue,
    read,
    readSlow: (statement, values) => readSnapshot((run) => run(statement, values)),
    readSnapshot,
    inspectSnapshot: snapshotsOn([inspection]),

    async ping() {
      const found = await Promise.race([
        track(async () => findVault((await reader.get()).run)),
        sleep(PING_LIMIT_MS, { ref: false }),
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

type HeldConnection = ReturnType<typeof holdConnection>;

/** Returns a connection that opens on first use, and again after it was lost. `first` is already open. */
export function holdConnection(connect: () => Promise<SqlClient>, first?: SqlClient) {
  let held: Promise<SqlClient> | undefined;

  function hold(connecting: Promise<SqlClient>): Promise<SqlClient> {
    const forget = () => {
      if (held === connecting) held = undefined;
    };
    held = connecting;
    connecting.then(({ ended }) => ended.then(forget), forget);
    return connecting;
  }

  if (first !== undefined) hold(Promise.resolve(first));
  return {
    get: () => held ?? hold(connect()),
    /** Cuts the connection. Its waiting statements reject. */
    drop() {
      held?.then(
        (client) => client.destroy(),
        () => undefined,
      );
      held = undefined;
    },
    async close() {
      const client = await held?.catch(() => undefined);
      await client?.close();
    },
  };
}

/** Runs a query on one snapshot of an idle connection. */
async function readOn<T>(client: SqlClient, query: (run: Run) => Promise<T>): Promise<T> {
  try {
    const [, result] = await Promise.all([client.run(BEGIN), query(client.run)]);
    return result;
  } finally {
    // Do not wait for the answer: the next statement on this connection does not need it.
    client.run(END).catch(() => client.destroy());
  }
}
