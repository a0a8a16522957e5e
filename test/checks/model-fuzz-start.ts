import type { Application } from '../../src/contract/application.ts';
import type { Ignored, Model, ModelTenant } from './model-fuzz-state.ts';
import type { CreatedTenant } from './model-fuzz-targets.ts';

const INCLUDED_ACTIVE_TOKENS = 1_000;

export function createModel(created: readonly CreatedTenant[], now: number, ignores?: Ignored): Model {
  const tenants = created.map(({ tenant: { id, owner_id, name }, application }): [string, ModelTenant] => {
    const tenant: ModelTenant = {
      ...{ id, owner_id, name, created_at: now, settings: {} },
      applications: new Map(),
      tokens: new Map(),
      takenIds: new Set(),
      lastCreated: new Map(),
      active: new Set(),
      fingerprints: new Map(),
    };
    addApplication(tenant, application, now);
    return [id, tenant];
  });
  return { tenants: new Map(tenants), ignores, includedActiveTokens: INCLUDED_ACTIVE_TOKENS };
}

/** Adds a management application that no call created. */
export function addApplication(
  tenant: ModelTenant,
  { id, name, key = '', permissions }: Application,
  now: number,
): void {
  tenant.applications.set(id, {
    ...{ id, name, permissions, rules: [], tenant_id: tenant.id, type: 'management' },
    created_by: tenant.owner_id,
    created_at: now,
    keys: [{ key, version: 1, created_by: tenant.owner_id, created_at: now }],
    keyVersion: 1,
  });
}
