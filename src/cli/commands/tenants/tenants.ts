import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { Finding } from '../../../core/key-holder-ports.ts';
import { withKeyFile } from '../../credential/key-out.ts';
import { confirmLoss } from '../../credential/prompt.ts';
import { report } from '../../exit/report-failure.ts';
import { FLAGS, flag, requireValue } from '../../flags/global-flags.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { withAdmin, withVault } from '../on-file.ts';
import { checkTenantId, checkTenantName } from './check-tenant.ts';
import { damagedExitCode } from './damaged-exit-code.ts';

const NAME = flag('--name <name>', 'the display name of the tenant', 'VAULT_TENANT_NAME');
const TENANT = flag('--tenant <name>', 'the tenant, by name or id (default: the only one)', 'VAULT_TENANT_ID');
const ACCEPTED = flag('--tenant <id>', 'the id of the tenant (default: the only one)', 'VAULT_TENANT_ID');

/** `vault tenant create`: creates a tenant. Needs the key of the vault, but no API key. */
export const defineTenantCreate = withVault({
  flags: { name: NAME, ...FLAGS.keyOut },
  view: RESULT_VIEWS.tenantCreate,
  examples: ['vault tenant create --name Shop --key-out shop.key'],
  async work({ read }, open) {
    const name = checkTenantName('--name', requireValue(read({ name: NAME }).name, NAME));
    const vault = await open();
    const create = async () => stringifyJson({ ...(await vault.createTenant(name)) });
    return withKeyFile(read(FLAGS.keyOut).keyOut, create, 'application.key');
  },
});

/** `vault tenant list`: lists every tenant of the vault, oldest first. */
export const defineTenantList = withVault({
  view: RESULT_VIEWS.tenantList,
  help: `
The list omits damaged tenants, and the exit code is then 9. \`vault doctor\` finds the damage.`,
  examples: ['vault tenant list', 'vault tenant list -q'],
  async work(_line, open) {
    const { tenants: data, ...damaged } = await (await open()).listTenants();
    return { data, ...damaged };
  },
  exitCode: damagedExitCode,
});

/** `vault tenant issue-key`: creates a management application; the result holds its key. */
export const defineTenantIssueKey = withVault({
  flags: { tenant: TENANT, ...FLAGS.keyOut },
  view: RESULT_VIEWS.tenantIssueKey,
  examples: ['vault tenant issue-key --tenant ID --key-out management.key'],
  async work({ read }, open) {
    const { tenant, keyOut } = read({ tenant: TENANT, ...FLAGS.keyOut });
    const vault = await open();
    return withKeyFile(keyOut, async () => stringifyJson((await vault.issueKey(tenant)) as Printable));
  },
});

const ACCEPT_HELP = `
A tenant is closed if its records differ from the audit and no entry names the wrong one: all its calls fail. Restore a
backup instead if you have one. The audit records the acceptance, but not the differences: keep the output.
If an accepted row is older, replaced or deleted API keys may work again: run \`vault apps regenerate\` for its application.
A tenant that cannot be decrypted is not accepted. Any other record that cannot be decrypted stays damaged.`;

const MAX_SHOWN = 20;

/** `vault tenant accept`: accepts the records of a tenant as they are. */
export const defineTenantAccept = withAdmin({
  flags: { tenant: ACCEPTED, ...FLAGS.confirm },
  view: RESULT_VIEWS.tenantAccept,
  help: ACCEPT_HELP,
  examples: ['vault tenant accept --tenant ID', 'vault tenant accept --tenant ID --yes > accepted.json'],
  async work({ read }, open) {
    const tenant = checkTenantId(read({ tenant: ACCEPTED }).tenant);
    const { tenant_id, name, findings, accept } = await (await open()).compareTenant(tenant);
    if (!read(FLAGS.confirm).yes) {
      reportDifference(tenant_id, findings);
      await confirmLoss(
        `From now on, the vault accepts the records of the tenant ${nameWithId(tenant_id, name)} despite ${countOf(findings)}. Replaced or deleted API keys work again if their rows exist.`,
      );
    }
    await accept();
    return { tenant_id, accepted: findings };
  },
});

const nameWithId = (id: string, name: string | undefined) => (name === undefined ? id : `${name} (${id})`);

const countOf = ({ length }: readonly Finding[]) => (length === 1 ? '1 difference' : `${length} differences`);

function reportDifference(tenantId: string, findings: readonly Finding[]): void {
  const lines = findings.map(({ table, id, what }) => [table, id, what].filter(Boolean).join(' '));
  const more = lines.length > MAX_SHOWN ? [`… and ${lines.length - MAX_SHOWN} more`] : [];
  report(`tenant ${tenantId} differs from the audit:`, undefined, [...lines.slice(0, MAX_SHOWN), ...more]);
}
