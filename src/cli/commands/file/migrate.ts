import { Fault } from '../../../core/fault.ts';
import { FLAGS, flag } from '../../global-flags.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { report } from '../../report-failure.ts';
import { choosePlace } from '../../target.ts';
import { type CommandLine, printing } from '../printing.ts';

const MIGRATE_FLAGS = { dryRun: flag('--dry-run', 'print the formats and change nothing') };

const HELP = `
Run it as the owner of the tables, after an update of this program. It needs no key, runs in one transaction, and gives up
when it must wait for a lock for more than two seconds. Most updates only add something, so daemons may serve meanwhile. A
file needs no command: the first use of a newer version updates it, and keeps a copy.`;

/** `vault migrate`: updates the tables of a database to the format of this version. */
export const defineMigrate = printing({
  flags: { ...MIGRATE_FLAGS, ...FLAGS.store, ...FLAGS.profile },
  view: RESULT_VIEWS.migrate,
  help: HELP,
  examples: ["vault migrate --dry-run --store 'postgres://owner@db.test/vault'"],
  work: migrate,
});

async function migrate({ flags, env, read }: CommandLine) {
  const { dryRun } = read(MIGRATE_FLAGS);
  const { store } = choosePlace(flags, env);
  if (store === undefined) {
    throw new Fault('usage', 'this command works only on a database', { hint: 'set --store (VAULT_STORE)' });
  }
  const { migrateStoreVault } = await import('../../../vault/store-vault.ts');
  const migrated = await migrateStoreVault(store, { dryRun });
  if (migrated.steps === 0) report(`format ${migrated.to} is current`);
  return { store: store.url.shown, ...migrated };
}
