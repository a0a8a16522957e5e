import type { Command } from 'commander';
import { Fault } from '../../core/fault.ts';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import type { Vault } from '../../vault.ts';
import { readCredential } from '../credential.ts';
import { chooseFile } from '../door.ts';
import type { Finish } from '../exit-codes.ts';
import {
  addFlags,
  FILE_FLAGS,
  flagValue,
  KEY_OUT_FLAGS,
  type KeyOutFlags,
  OUTPUT_FLAGS,
  PROFILE_FLAGS,
  typedFlags,
} from '../global-flags.ts';
import { withKeyFile } from '../key-out.ts';
import { createPrinter } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { withProfile } from '../profiles/with-profile.ts';
import { LOCAL_VIEWS } from './local-view.ts';
import { checkTenantId } from './tenant-id.ts';
import { checkTenantName } from './tenant-name.ts';

/** `vault tenant create`: whoever holds the file's key needs no API key. */
export function defineTenantCreate(command: Command, finish: Finish): void {
  addFlags(command, { name: TENANT_FLAGS.name });
  defineOnFile(command, finish, LOCAL_VIEWS.tenantCreate, ({ name }) => {
    const checked = checkTenantName('--name', required(name, TENANT_FLAGS.name));
    return async (vault) => stringifyJson({ ...(await vault.createTenant(checked)) });
  });
}

/** `vault tenant list`: every tenant of the file, oldest first. */
export function defineTenantList(command: Command, finish: Finish): void {
  defineOnFile(command, finish, LOCAL_VIEWS.tenantList, () => {
    return async (vault) => stringifyJson({ data: await vault.listTenants() });
  });
}

/** `vault tenant issue-key`: a new management application, whose key is in the result. */
export function defineTenantIssueKey(command: Command, finish: Finish): void {
  addFlags(command, { tenant: TENANT_FLAGS.tenant });
  defineOnFile(command, finish, LOCAL_VIEWS.tenantIssueKey, ({ tenant: typed }) => {
    const tenant = checkTenantId(required(typed, TENANT_FLAGS.tenant));
    return async (vault) => stringifyJson((await vault.issueKey(tenant)) as Printable);
  });
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

/** `prepare` checks the flags before the file is opened, and answers what to do with it. */
function defineOnFile(
  command: Command,
  finish: Finish,
  view: ResultView,
  prepare: (flags: TenantFlags) => (vault: Vault) => Promise<string>,
): void {
  const hasKey = view !== LOCAL_VIEWS.tenantList;
  addFlags(command, { ...FILE_FLAGS, ...PROFILE_FLAGS, ...(hasKey && KEY_OUT_FLAGS), ...OUTPUT_FLAGS });
  command.action(async () => {
    const flags = typedFlags<TenantFlags>(command);
    const env = await withProfile(flags, process.env);
    const printer = createPrinter(flags, env, view);
    const work = prepare(flags);
    const file = chooseFile(flags, env);
    const credential = await readCredential(file, flags, env);
    const keyOut = hasKey ? flagValue(flags.keyOut, env, KEY_OUT_FLAGS.keyOut) : undefined;
    const keyMember = view === LOCAL_VIEWS.tenantCreate ? 'application.key' : 'key';
    const { openVault } = await import('../../vault.ts');
    const vault = await openVault({ file, credential });
    try {
      await printer.print(await withKeyFile(keyOut, () => work(vault), keyMember));
    } finally {
      await vault.close();
    }
    finish(0);
  });
}
