import type { Command } from 'commander';
import { UUID } from '../../contract/text.ts';
import { Fault } from '../../core/fault.ts';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import type { Vault } from '../../vault.ts';
import { readCredential } from '../credential.ts';
import { chooseFile } from '../door.ts';
import type { Finish } from '../exit-codes.ts';
import { addFlags, FILE_FLAGS, OUTPUT_FLAGS, typedFlags } from '../global-flags.ts';
import { createPrinter } from '../output/print-result.ts';
import type { ResultView } from '../output/result-view.ts';
import { LOCAL_VIEWS } from './local-view.ts';
import { checkTenantName } from './tenant-name.ts';

/** `vault tenant create`: whoever holds the file's key needs no API key. */
export function defineTenantCreate(command: Command, finish: Finish): void {
  command.requiredOption('--name <name>', 'what people call the tenant');
  defineOnFile(command, finish, LOCAL_VIEWS.tenantCreate, ({ name }) => {
    const checked = checkTenantName('--name', name ?? '');
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
  command.requiredOption('--tenant <id>', 'the id of the tenant; `vault tenant list` shows them');
  defineOnFile(command, finish, LOCAL_VIEWS.tenantIssueKey, ({ tenant = '' }) => {
    if (!new RegExp(UUID).test(tenant)) throw new Fault('usage', '--tenant is the id of a tenant, a UUID');
    return async (vault) => stringifyJson((await vault.issueKey(tenant)) as Printable);
  });
}

interface TenantFlags {
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
  addFlags(command, { ...FILE_FLAGS, ...OUTPUT_FLAGS });
  command.action(async () => {
    const flags = typedFlags<TenantFlags>(command);
    const printer = createPrinter(flags, process.env, view);
    const work = prepare(flags);
    const file = chooseFile(flags, process.env);
    const credential = await readCredential(file, flags, process.env);
    const { openVault } = await import('../../vault.ts');
    const vault = await openVault({ file, credential });
    try {
      await printer.print(await work(vault));
    } finally {
      await vault.close();
    }
    finish(0);
  });
}
