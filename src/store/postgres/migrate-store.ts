import { Fault } from '../../core/fault.ts';
import { storedNumber } from '../rows/stored-value.ts';
import type { StoreOptions } from './open-connections.ts';
import { readVault, withConnection } from './open-vault-store.ts';
import { FORMAT, findVault } from './schema.ts';
import { firstValue, NOW } from './sql-client.ts';
import type { StoreUrl } from './store-url.ts';

/** A step from one format to the next. */
export interface Migration {
  readonly from: number;
  /** The oldest format whose daemons can use the tables after the step. A step that only adds something keeps it. */
  readonly serves_from: number;
  readonly statements: readonly string[];
}

export interface MigrateOptions extends StoreOptions {
  /** Only counts the steps. */
  readonly dryRun: boolean;
  readonly migrations?: readonly Migration[];
}

/** Only the first format has been released, so there is nothing to migrate. */
const MIGRATIONS: readonly Migration[] = [];

const LIMIT_MS = 600_000;

const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit TO on; SET LOCAL lock_timeout TO '2s'`;
const LOCK = 'SELECT format FROM vault.format FOR UPDATE';
const RAISE = `UPDATE vault.format SET format = $1, serves_from = $2, migrated_at = ${NOW}`;

/**
 * Updates the tables of an older format, in one transaction. Waits at most two seconds for each lock, because daemons
 * wait behind it. Rejects with the faults `store_missing`, `newer_format`, `store_outdated` for a format without a
 * step, `store_unreachable` for a lock, and `store_refused` for a role that does not own the tables. Resolves to the
 * formats, and the number of steps between them.
 */
export function migrateStore(url: StoreUrl, { dryRun, migrations = MIGRATIONS, ...options }: MigrateOptions) {
  return withConnection(url, LIMIT_MS, options, async (client) => {
    const { run } = client;
    const { state } = await findVault(run);
    if (state !== 'outdated') await readVault(client, url);
    await run(BEGIN);
    // Another process may have migrated the tables while this one waited for the lock.
    const from = storedNumber(firstValue(await run(LOCK)));
    const to = Math.max(from, FORMAT.format);
    for (let format = from; format < to; format += 1) {
      const step = migrations.find((each) => each.from === format);
      if (step === undefined) {
        throw new Fault('store_outdated', `${url.shown} has format ${format}, which this version cannot update`, {
          hint: 'use an earlier version of this program to update it first',
        });
      }
      if (dryRun) continue;
      for (const statement of step.statements) await run(statement);
      await run(RAISE, [format + 1, step.serves_from]);
    }
    await client.commit();
    return { from, to, steps: to - from };
  });
}
