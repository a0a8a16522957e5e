import type { Connections } from './connections.ts';
import { type HeldConnection, holdConnection } from './held-connection.ts';
import type { SqlClient } from './sql-client.ts';

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const END = 'COMMIT';

/** Returns `size` connections for reads that may take long. Each opens on first use, and serves one read at a time. */
export function slowPool(connect: () => Promise<SqlClient>, size: number) {
  const connections = Array.from({ length: size }, () => holdConnection(connect));
  const idle = [...connections];
  const waiting: ((connection: HeldConnection) => void)[] = [];

  /** Runs `read` on one snapshot. */
  const snapshot: Connections['readSnapshot'] = async (read) => {
    const connection = idle.pop() ?? (await new Promise<HeldConnection>((resolve) => waiting.push(resolve)));
    try {
      const client = await connection.get();
      try {
        const [, result] = await Promise.all([client.run(BEGIN), read(client.run)]);
        return result;
      } finally {
        // Do not wait for the answer: the next statement on this connection does not need it.
        client.run(END).catch(() => client.destroy());
      }
    } finally {
      const next = waiting.shift();
      if (next === undefined) idle.push(connection);
      else next(connection);
    }
  };

  return {
    snapshot,

    drop() {
      for (const connection of connections) connection.drop();
    },

    async close() {
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}
