import type { Undertaker } from '../ports.ts';
import type { World } from '../world.ts';

/** What the removal of expired records leaves behind. */
export function createUndertaker({ keyring, audit }: Pick<World, 'keyring' | 'audit'>): Undertaker {
  return {
    bury(token) {
      const { tenant_id, id } = token;
      return {
        tombstone: { ...token, mac: keyring.tombstoneMac(token) },
        audit: audit.draft({ action: 'expireToken', status: 200, tenant_id, entities: [id] }),
      };
    },
    dismiss: (tenant_id, removed) =>
      audit.draft({ action: 'expireApplication', status: 200, tenant_id, entities: removed }),
  };
}
