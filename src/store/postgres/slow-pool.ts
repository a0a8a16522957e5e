import type { Run } from './connections.ts';
import { type HeldConnection, holdConnection } from './held-connection.ts';
import type { SqlClient } from './sql-client.ts';

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const END = 'COMMIT';

/** Returns at most `size` connections for reads that may take long. Each read uses one connection alone. */
export function slowPool(connect: () => Promise<SqlClient>, size: number) {
  const connections: HeldConnection[] = [];
  const idle: HeldConnection[] = [];
  const waiting: ((connection: HeldConnection) => void)[] = [];

  async function take(): Promise<HeldConnection> {
    const free = idle.pop();
    if (free !== undefined) return free;
    if (connections.length < size) {
      const connection = holdConnection(connect);
      connections.push(connection);
      return connection;
    }
    return new Promise((resolve) => waiting.push(resolve));
  }

  function release(connection: HeldConnection): void {
    const next = waiting.shift();
    if (next === undefined) idle.push(connection);
    else next(connection);
  }

  async function withClient<T>(use: (client: SqlClient) => Promise<T>): Promise<T> {
    const connection = await take();
    try {
      return await use(await connection.get());
    } finally {
      release(connection);
    }
  }

  return {
    run: <T>(read: (run: Run) => Promise<T>) => withClient(({ run }) => read(run)),

    /** Runs `read` on one snapshot. */
    snapshot: <T>(read: (run: Run) => Promise<T>) =>
      withClient(async (client) => {
        try {
          const [, result] = await Promise.all([client.run(BEGIN), read(client.run)]);
          return result;
        } finally {
          // Do not wait for the answer: the next statement on this connection does not need it.
          client.run(END).catch(() => client.destroy());
        }
      }),

    drop() {
      for (const connection of connections) connection.drop();
    },

    async close() {
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}
