import type { Application } from '../../contract/application.ts';
import { PERMISSIONS, type Permission } from '../../contract/permissions.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { generateApiKey } from '../applications/api-key.ts';
import { sealApplication, showApplication } from '../applications/application-codec.ts';
import { makeApplicationKey } from '../applications/application-key-codec.ts';
import type { AuthorityDraft } from '../audit/ports.ts';
import type { World } from '../handler.ts';
import type { TenantKeyring } from '../ports.ts';
import { noSuchTenant } from './no-such-tenant.ts';
import { sealTenant, showTenant } from './tenant-codec.ts';

/** A tenant that the holder of the file's key creates, without a caller and without permission checks. */
export interface CreatedTenant {
  readonly tenant: Tenant;
  /** The tenant's first management application, including its `key`. */
  readonly application: Application;
}

/**
 * Creates a tenant with its keys and its first management application. The `created_by` of both is the tenant's
 * `owner_id` (decisions §6).
 */
export async function createTenant(world: World, name: string): Promise<CreatedTenant> {
  await world.follower.follow();
  const now = world.clock.now();
  const id = world.random.id();
  const owner_id = world.random.id();
  const data = world.keyring.createTenantKey(id, 'data', [], now);
  const keys = [data, world.keyring.createTenantKey(id, 'index', [data], now)];
  const keyring = world.keyring.openTenant(id, keys);
  const clear = { id, owner_id, created_by: owner_id, created_at: now, revision: 1 };
  const tenant = sealTenant(keyring, clear, { name, settings: {} });
  const made = managementApplication(world, keyring, id, owner_id);
  const { application, key } = made;
  const audit = madeOnFile(world, 'createTenant', made);
  await world.store.insertTenant(tenant.record, keys, { application: application.record, key: made.record }, audit);
  return { tenant: showTenant(tenant), application: showApplication(application, key) };
}

/** Creates another management application in a tenant, to replace a lost API key. Throws the fault `not_found`. */
export async function issueManagementKey(world: World, tenantId: string): Promise<Application> {
  await world.follower.follow();
  const found = await world.store.findTenant(tenantId.toLowerCase());
  if (!found) throw noSuchTenant();
  const { id, owner_id } = found.tenant;
  const keyring = world.keyring.openTenant(id, found.keys);
  const made = managementApplication(world, keyring, id, owner_id);
  const { application, key } = made;
  const audit = madeOnFile(world, 'issueKey', made);
  await world.store.insertApplication(application.record, audit, { key: made.record });
  return showApplication(application, key);
}

function madeOnFile(
  { audit }: World,
  action: 'createTenant' | 'issueKey',
  { application: { record, details }, record: key }: ReturnType<typeof managementApplication>,
): AuthorityDraft {
  const { tenant_id, id, revision } = record;
  const common = { status: 200, tenant_id, names: [details.name] };
  const made = { ...common, action, revision, entities: [id] };
  return audit.draftAuthority(made, {
    ...common,
    action: 'addApplicationKey',
    revision: key.revision,
    entities: [key.id],
  });
}

function managementApplication(world: World, keyring: TenantKeyring, tenant_id: string, created_by: string) {
  const text = generateApiKey(world.random);
  const permissions = (Object.keys(PERMISSIONS) as Permission[]).filter((name) =>
    (PERMISSIONS[name].types as readonly string[]).includes('management'),
  );
  const application = sealApplication(
    keyring,
    {
      id: world.random.id(),
      tenant_id,
      type: 'management',
      key_version: 0,
      created_by,
      created_at: world.clock.now(),
      revision: 1,
    },
    { name: 'management', permissions, rules: [] },
  );
  const { created_at } = application.record;
  const first = { version: 1, created_by, created_at };
  return { application, ...makeApplicationKey(world, keyring, application.record, first, text) };
}
