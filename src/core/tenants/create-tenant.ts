import type { Application } from '../../contract/application.ts';
import { PERMISSIONS, type Permission } from '../../contract/permissions.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { generateApiKey } from '../applications/api-key.ts';
import { makeApplicationKey, sealApplication, showApplication } from '../applications/application-codec.ts';
import type { Context } from '../handler.ts';
import type { TenantKeyring, TenantRecord } from '../ports.ts';
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
export async function createTenant(context: Context, name: string): Promise<CreatedTenant> {
  await context.follower.follow();
  const now = context.clock.now();
  const id = context.random.id();
  const owner_id = context.random.id();
  const data = context.keyring.createTenantKey(id, 'data', [], now);
  const keys = [data, context.keyring.createTenantKey(id, 'index', [data], now)];
  const keyring = context.keyring.openTenant(id, keys);
  const clear = { id, owner_id, created_by: owner_id, created_at: now, revision: 1 };
  const tenant = sealTenant(keyring, clear, { name, settings: {} });
  const { application, key, audit, shown } = managementApplication(context, 'createTenant', keyring, tenant.record);
  await context.store.insertTenant(tenant.record, keys, { application, key }, audit);
  return { tenant: showTenant(tenant), application: shown };
}

/** Creates another management application in a tenant, to replace a lost API key. Throws the fault `not_found`. */
export async function issueManagementKey(context: Context, tenantId: string): Promise<Application> {
  await context.follower.follow();
  const found = await context.store.findTenant(tenantId.toLowerCase());
  if (!found) throw noSuchTenant();
  const keyring = context.keyring.openTenant(found.tenant.id, found.keys);
  const { application, key, audit, shown } = managementApplication(context, 'issueKey', keyring, found.tenant);
  await context.store.insertApplication(application, audit, { key });
  return shown;
}

/** Makes a management application: its records, the audit row of `action`, and the application for the reply. */
function managementApplication(
  context: Context,
  action: 'createTenant' | 'issueKey',
  keyring: TenantKeyring,
  { id: tenant_id, owner_id: created_by }: TenantRecord,
) {
  const text = generateApiKey(context.random);
  const permissions = (Object.keys(PERMISSIONS) as Permission[]).filter((name) =>
    (PERMISSIONS[name].types as readonly string[]).includes('management'),
  );
  const application = sealApplication(
    keyring,
    {
      id: context.random.id(),
      tenant_id,
      type: 'management',
      key_version: 0,
      created_by,
      created_at: context.clock.now(),
      revision: 1,
    },
    { name: 'management', permissions, rules: [] },
  );
  const { record, details } = application;
  const { record: key } = makeApplicationKey(
    context,
    keyring,
    record,
    { created_by, created_at: record.created_at },
    text,
  );
  const common = { status: 200, tenant_id, names: [details.name] };
  const audit = context.audit.draftAuthority(
    { ...common, action, revision: record.revision, entities: [record.id] },
    { ...common, action: 'addApplicationKey', revision: key.revision, entities: [key.id] },
  );
  return { application: record, key, audit, shown: showApplication(application, text) };
}
