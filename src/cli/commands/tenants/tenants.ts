import type { Command } from 'commander';
import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { Vault } from '../../../vault/vault.ts';
import type { Finish } from '../../exit-codes.ts';
import { addFlags, FLAGS, type FlagRow, flag } from '../../global-flags.ts';
import { type KeyMember, withKeyFile } from '../../key-out.ts';
import type { ResultView } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import type { CommandLine } from '../define-printing.ts';
import { closing, defineOnVault } from '../on-file.ts';
import { checkTenantId, checkTenantName } from './check-tenant.ts';

const NAME = flag('--name <name>', 'the display name of the tenant', 'VAULT_TENANT_NAME');
const TENANT = flag('--tenant <id>', 'the id of the tenant (default: the only one)', 'VAULT_TENANT_ID');

/** `vault tenant create`: creates a tenant. Needs the key of the vault, but no API key. */
export function defineTenantCreate(command: Command, finish: Finish): void {
  addFlags(command, { name: NAME });
  const prepare = ({ read }: CommandLine) => {
    const name = checkTenantName('--name', required(read({ name: NAME }).name, NAME));
    return async (vault: Vault) => stringifyJson({ ...(await vault.createTenant(name)) });
  };
  define(command, finish, RESULT_VIEWS.tenantCreate, prepare, 'application.key');
}

/** `vault tenant list`: lists every tenant of the vault, oldest first. */
export function defineTenantList(command: Command, finish: Finish): void {
  define(command, finish, RESULT_VIEWS.tenantList, () => {
    return async (vault) => stringifyJson({ data: await vault.listTenants() });
  });
}

/** `vault tenant issue-key`: creates a management application; the result holds its key. */
export function defineTenantIssueKey(command: Command, finish: Finish): void {
  addFlags(command, { tenant: TENANT });
  const prepare = ({ read }: CommandLine) => {
    const tenant = checkTenantId(read({ tenant: TENANT }).tenant);
    return async (vault: Vault) => stringifyJson((await vault.issueKey(tenant)) as Printable);
  };
  define(command, finish, RESULT_VIEWS.tenantIssueKey, prepare, 'key');
}

function required(value: string | undefined, { flag, env }: FlagRow): string {
  if (value !== undefined) return value;
  throw new Fault('usage', `${flag.split(' ')[0]} (${env}) must be given`);
}

/**
 * Defines a subcommand for a file or a database. `prepare` checks the flags first. If `keyMember` is given, the result
 * holds an API key.
 */
function define(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: (line: CommandLine) => (vault: Vault) => Promise<string>,
  keyMember?: KeyMember,
): void {
  defineOnVault(command, finish, view, async (line) => {
    const work = prepare(line);
    const keyOut = keyMember && line.read(FLAGS.keyOut).keyOut;
    return async (opened) => {
      const { openVaultAt } = await import('../../../vault/place.ts');
      const { credential, ...place } = opened;
      return closing(await openVaultAt(place, { credential }), (vault) =>
        withKeyFile(keyOut, () => work(vault), keyMember),
      );
    };
  });
  if (keyMember !== undefined) addFlags(command, FLAGS.keyOut);
}
