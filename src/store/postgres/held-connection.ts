import type { SqlClient } from './sql-client.ts';

/** A connection that is made when it is first used, and again after it was lost. */
export interface HeldConnection {
  get(): Promise<SqlClient>;
  /** Cuts the connection; waiting statements reject. */
  drop(): void;
  close(): Promise<void>;
}

/** `first` is a connection that exists already. */
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
