import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { Vault } from '../../../vault/vault.ts';
import { FLAGS, type FlagRow, type FlagRows, flag } from '../../global-flags.ts';
import { type KeyMember, withKeyFile } from '../../key-out.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { closing, onVault } from '../on-file.ts';
import type { CommandLine, Printing } from '../printing.ts';
import { checkTenantId, checkTenantName } from './check-tenant.ts';

const NAME = flag('--name <name>', 'the display name of the tenant', 'VAULT_TENANT_NAME');
const TENANT = flag('--tenant <id>', 'the id of the tenant (default: the only one)', 'VAULT_TENANT_ID');

/** `vault tenant create`: creates a tenant. Needs the key of the vault, but no API key. */
export const defineTenantCreate = onTenants({
  flags: { name: NAME, ...FLAGS.keyOut },
  view: RESULT_VIEWS.tenantCreate,
  examples: ['vault tenant create --name Shop --key-out shop.key'],
  keyMember: 'application.key',
  prepare({ read }) {
    const name = checkTenantName('--name', required(read({ name: NAME }).name, NAME));
    return async (vault) => stringifyJson({ ...(await vault.createTenant(name)) });
  },
});

/** `vault tenant list`: lists every tenant of the vault, oldest first. */
export const defineTenantList = onTenants({
  view: RESULT_VIEWS.tenantList,
  examples: ['vault tenant list', 'vault tenant list -q'],
  prepare: () => async (vault) => stringifyJson({ data: await vault.listTenants() }),
});

/** `vault tenant issue-key`: creates a management application; the result holds its key. */
export const defineTenantIssueKey = onTenants({
  flags: { tenant: TENANT, ...FLAGS.keyOut },
  view: RESULT_VIEWS.tenantIssueKey,
  examples: ['vault tenant issue-key --tenant ID --key-out management.key'],
  keyMember: 'key',
  prepare({ read }) {
    const tenant = checkTenantId(read({ tenant: TENANT }).tenant);
    return async (vault) => stringifyJson((await vault.issueKey(tenant)) as Printable);
  },
});

function required(value: string | undefined, { flag, env }: FlagRow): string {
  if (value !== undefined) return value;
  throw new Fault('usage', `${flag.split(' ')[0]} (${env}) must be given`);
}

interface OnTenants extends Pick<Printing<object>, 'view' | 'examples'> {
  readonly flags?: FlagRows;
  /** The path of the API key in the result; absent when it has none. */
  readonly keyMember?: KeyMember;
  /** Checks the flags. Returns the work on the open vault. */
  readonly prepare: (line: CommandLine) => (vault: Vault) => Promise<string>;
}

/** Returns the function that defines a subcommand for a file or a database. */
function onTenants({ keyMember, prepare, ...row }: OnTenants) {
  return onVault({
    ...row,
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
