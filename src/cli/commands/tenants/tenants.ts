import type { Command } from 'commander';
import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { Vault } from '../../../vault/vault.ts';
import type { Finish } from '../../exit-codes.ts';
import { addFlags, flagValue, KEY_OUT_FLAGS, type KeyOutFlags } from '../../global-flags.ts';
import { type KeyMember, withKeyFile } from '../../key-out.ts';
import type { ResultView } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { closing, defineOnFile } from '../on-file.ts';
import { checkTenantId, checkTenantName } from './check-tenant.ts';

/** `vault tenant create`: whoever holds the file's key needs no API key. */
export function defineTenantCreate(command: Command, finish: Finish): void {
  addFlags(command, { name: TENANT_FLAGS.name });
  define(
    command,
    finish,
    RESULT_VIEWS.tenantCreate,
    ({ name }) => {
      const checked = checkTenantName('--name', required(name, TENANT_FLAGS.name));
      return async (vault) => stringifyJson({ ...(await vault.createTenant(checked)) });
    },
    'application.key',
  );
}

/** `vault tenant list`: every tenant of the file, oldest first. */
export function defineTenantList(command: Command, finish: Finish): void {
  define(command, finish, RESULT_VIEWS.tenantList, () => {
    return async (vault) => stringifyJson({ data: await vault.listTenants() });
  });
}

/** `vault tenant issue-key`: a new management application, whose key is in the result. */
export function defineTenantIssueKey(command: Command, finish: Finish): void {
  addFlags(command, { tenant: TENANT_FLAGS.tenant });
  define(
    command,
    finish,
    RESULT_VIEWS.tenantIssueKey,
    ({ tenant: typed }) => {
      const tenant = checkTenantId(required(typed, TENANT_FLAGS.tenant));
      return async (vault) => stringifyJson((await vault.issueKey(tenant)) as Printable);
    },
    'key',
  );
}

const TENANT_FLAGS = {
  name: { flag: '--name <name>', env: 'VAULT_TENANT_NAME', help: 'what people call the tenant' },
  tenant: {
    flag: '--tenant <id>',
    env: 'VAULT_TENANT_ID',
    help: 'the id of the tenant; `vault tenant list` shows them',
  },
} as const;

function required(
  typed: string | undefined,
  row: { readonly flag: string; readonly env: string; readonly help: string },
): string {
  const value = flagValue(typed, process.env, row);
  if (value !== undefined) return value;
  throw new Fault('usage', `${row.flag.split(' ')[0]} (${row.env}) must be given`);
}

interface TenantFlags extends KeyOutFlags {
  readonly name?: string;
  readonly tenant?: string;
}

/** `prepare` checks the flags before the file is opened. With `keyMember`, the result holds an API key. */
function define(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: (flags: TenantFlags) => (vault: Vault) => Promise<string>,
  keyMember?: KeyMember,
): void {
  defineOnFile<TenantFlags>(command, finish, view, async (flags, env) => {
    const work = prepare(flags);
    const keyOut = keyMember && flagValue(flags.keyOut, env, KEY_OUT_FLAGS.keyOut);
    return async (opened) => {
      const { openVault } = await import('../../../vault/vault.ts');
      return closing(await openVault(opened), (vault) => withKeyFile(keyOut, () => work(vault), keyMember));
    };
  });
  if (keyMember !== undefined) addFlags(command, KEY_OUT_FLAGS);
}
