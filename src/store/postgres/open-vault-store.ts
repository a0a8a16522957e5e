import { Fault } from '../../core/fault.ts';
import type { Store, VaultHeader } from '../../core/ports.ts';
import { insertStoredHeader, readHeader } from './header-row.ts';
import { connectTo, LIMITS, openConnections, type StoreOptions } from './open-connections.ts';
import { perform } from './perform.ts';
import { NOT_ALLOWED, PgError, treatmentOf } from './pg-error.ts';
import { postgresStore } from './postgres-store.ts';
import { setUpRoles } from './roles.ts';
import { createSchema, findVault, type VaultState } from './schema.ts';
import { soleConnection } from './sole-connection.ts';
import { readClock, type SqlClient } from './sql-client.ts';
import type { StoreUrl } from './store-url.ts';

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit TO on';
/** Records the creation as a sweep, so that the first sweep runs one interval later. */
const NOTE_CREATION = 'UPDATE vault.sweep SET swept_at = $1';

/** The limit of one statement in milliseconds. */
const LIMIT_MS = 30_000;

/** The faults of schemas that this code cannot serve. */
const FAULTS: Readonly<Record<Exclude<VaultState, 'current'>, (shown: string) => Fault>> = {
  missing: (shown) => new Fault('store_missing', `${shown} contains no vault`),
  moved: (shown) =>
    new Fault('store_missing', `the vault in ${shown} was moved away`, { hint: 'open the vault at its new location' }),
  invalid: (shown) => new Fault('damaged', `the vault in ${shown} has no valid format number`),
  newer: (shown) => new Fault('newer_format', `the vault in ${shown} has a newer format`),
};

/** Opens a vault without unlocking it. Rejects with the faults of `readVault`, `connectStore` and `toStoreFault`. */
export async function openVaultStore(url: StoreUrl, options: StoreOptions = {}) {
  const reader = await connectTo(url, LIMITS.reader, options);
  try {
    const header = await readVault(reader, url);
    const connections = openConnections(url, options, header.vault_id, reader);
    return {
      header,
      store: postgresStore(connections),
      /** Reads the time of the database, which all processes share. */
      readClock: () => readClock({ run: connections.read }),
    };
  } catch (error) {
    reader.destroy();
    throw toStoreFault(url, error);
  }
}

/** Reads the header. Rejects with the fault `store_missing`, `damaged` or `newer_format`. */
export async function readVault({ run }: SqlClient, { shown }: StoreUrl) {
  const { state } = await findVault(run);
  if (state !== 'current') throw FAULTS[state](shown);
  return readHeader(run);
}

/**
 * Creates a vault in a store: the tables, the header and the rows that `prepare` writes, in one transaction. Leaves
 * nothing behind when it fails. The role `grant` may then serve the vault. Rejects with the faults `conflict` if the
 * schema has a vault or other tables, `not_found` for an unknown role, and those of `connectStore`.
 */
export function createVaultStore(
  url: StoreUrl,
  header: VaultHeader,
  prepare: (store: Store) => Promise<void>,
  { grant, ...options }: StoreOptions & { readonly grant?: string | undefined } = {},
): Promise<void> {
  return withConnection(url, LIMIT_MS, options, async (client) => {
    if ((await findVault(client.run)).state !== 'missing') {
      throw new Fault('conflict', `${url.shown} has a vault in the schema ${url.schema}`, {
        hint: 'name another schema with ?schema=NAME',
      });
    }
    await client.run(BEGIN);
    await createSchema(client, url);
    await perform(client.run, insertStoredHeader(header));
    await client.run(NOTE_CREATION, [header.created_at]);
    await prepare(postgresStore(soleConnection(client)));
    await setUpRoles(client.run, url, grant);
    await client.commit();
  });
}

/**
 * Runs the work of a command on a connection of its own. When the work fails, the connection ends, and the server rolls
 * back. Rejects with the faults of `toStoreFault` and `connectStore`.
 */
export async function withConnection<T>(
  url: StoreUrl,
  limit: number,
  options: StoreOptions,
  work: (client: SqlClient) => Promise<T>,
): Promise<T> {
  const client = await connectTo(url, limit, options);
  try {
    const result = await work(client);
    await client.close();
    return result;
  } catch (error) {
    client.destroy();
    throw toStoreFault(url, error);
  }
}

/** Returns the fault of a statement that failed while a command opened, created or moved a vault. */
export function toStoreFault({ shown }: StoreUrl, error: unknown): unknown {
  if (!(error instanceof PgError)) return error;
  const hint = error.code === NOT_ALLOWED ? 'use the role that owns the tables, or let it grant the access' : undefined;
  return new Fault(treatmentOf(error, 'write').fault, `${shown} failed with ${error.code}`, { cause: error, hint });
}
