import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { Vault } from '../../../vault/vault.ts';
import { FLAGS, type FlagRow, type FlagRows, flag } from '../../global-flags.ts';
import { type KeyMember, withKeyFile } from '../../key-out.ts';
import type { ResultView } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { closing, onVault } from '../on-file.ts';
import type { CommandLine } from '../printing.ts';
import { checkTenantId, checkTenantName } from './check-tenant.ts';

const NAME = flag('--name <name>', 'the display name of the tenant', 'VAULT_TENANT_NAME');
const TENANT = flag('--tenant <id>', 'the id of the tenant (default: the only one)', 'VAULT_TENANT_ID');

/** `vault tenant create`: creates a tenant. Needs the key of the vault, but no API key. */
export const defineTenantCreate = onTenants(
  RESULT_VIEWS.tenantCreate,
  ({ read }) => {
    const name = checkTenantName('--name', required(read({ name: NAME }).name, NAME));
    return async (vault) => stringifyJson({ ...(await vault.createTenant(name)) });
  },
  { name: NAME },
  'application.key',
);

/** `vault tenant list`: lists every tenant of the vault, oldest first. */
export const defineTenantList = onTenants(RESULT_VIEWS.tenantList, () => {
  return async (vault) => stringifyJson({ data: await vault.listTenants() });
});

/** `vault tenant issue-key`: creates a management application; the result holds its key. */
export const defineTenantIssueKey = onTenants(
  RESULT_VIEWS.tenantIssueKey,
  ({ read }) => {
    const tenant = checkTenantId(read({ tenant: TENANT }).tenant);
    return async (vault) => stringifyJson((await vault.issueKey(tenant)) as Printable);
  },
  { tenant: TENANT },
  'key',
);

function required(value: string | undefined, { flag, env }: FlagRow): string {
  if (value !== undefined) return value;
  throw new Fault('usage', `${flag.split(' ')[0]} (${env}) must be given`);
}

/**
 * Returns the function that defines a subcommand for a file or a database. `prepare` checks the flags first. If
 * `keyMember` is given, the result holds an API key.
 */
function onTenants(
  view: ResultView,
  prepare: (line: CommandLine) => (vault: Vault) => Promise<string>,
  flags?: FlagRows,
  keyMember?: KeyMember,
) {
  return onVault({
    flags: { ...flags, ...(keyMember && FLAGS.keyOut) },
    view,
    async prepare(line) {
      const work = prepare(line);
      const keyOut = keyMember && line.read(FLAGS.keyOut).keyOut;
      return async ({ credential, ...place }) => {
        const { openVaultAt } = await import('../../../vault/place.ts');
        return closing(await openVaultAt(place, { credential }), (vault) =>
          withKeyFile(keyOut, () => work(vault), keyMember),
        );
      };
    },
  });
}
