import type { Connections } from './connections.ts';
import type { SqlClient } from './sql-client.ts';

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const END = 'COMMIT';

/** A connection that opens on first use, and again after it was lost. */
export type HeldConnection = ReturnType<typeof holdConnection>;

/** Returns a held connection. Uses `first`, which is already open, until it is lost. */
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
