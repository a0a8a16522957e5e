import type { SqlClient } from './sql-client.ts';

/** A connection that opens on first use, and again after it was lost. */
export interface HeldConnection {
  get(): Promise<SqlClient>;
  /** Cuts the connection. Its waiting statements reject. */
  drop(): void;
  close(): Promise<void>;
}

/** Returns a held connection. Uses `first`, which is already open, until it is lost. */
export function holdConnection(connect: () => Promise<SqlClient>, first?: SqlClient): HeldConnection {
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
