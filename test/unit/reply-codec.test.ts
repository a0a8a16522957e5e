import { describe, expect, it } from 'vitest';
import { openReply, sealReply } from '../../src/core/reply-codec.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { createTenantKeys } from '../tenant-keys.ts';

const TENANT = '00000000-0000-4000-8000-000000000001';
const OTHER = '00000000-0000-4000-8000-000000000002';
const HASH = new Uint8Array(32).fill(1);
const UNSEALED = { tenant_id: TENANT, application_id: TENANT, key_hash: HASH, request_hash: HASH, created_at: 5 };
const CONTENTS = { status: 201, ids: ['a', 'b'], issued: { id: 'key', key: 'key_x', revision: 2 } };

async function openKeyrings() {
  const { keyring } = await createKeyring({ kind: 'key_file', key: new Uint8Array(32).fill(7) }, { now: 1 });
  const open = (tenantId: string, keys = createTenantKeys(keyring, tenantId, 1)) => keyring.openTenant(tenantId, keys);
  return { keyring, open };
}

describe('a sealed reply', () => {
  it.each([
    ['application_id', { application_id: OTHER }],
    ['key_hash', { key_hash: new Uint8Array(32).fill(2) }],
    ['request_hash', { request_hash: new Uint8Array(32).fill(2) }],
    ['created_at', { created_at: 6 }],
    ['key_id', { key_id: 9 }],
  ])('is bound to its %s', async (_name, other) => {
    const { open } = await openKeyrings();
    const tenant = open(TENANT);
    const reply = sealReply(tenant, UNSEALED, CONTENTS);
    expect(openReply(tenant, reply)).toEqual(CONTENTS);
    expect(() => openReply(tenant, { ...reply, ...other })).toThrow('integrity_failure');
  });

  it('is bound to its tenant', async () => {
    const { keyring, open } = await openKeyrings();
    const keys = createTenantKeys(keyring, TENANT, 1);
    const reply = sealReply(open(TENANT, keys), UNSEALED, CONTENTS);
    expect(openReply(open(TENANT, keys), reply)).toEqual(CONTENTS);
    expect(() => openReply(open(OTHER), reply)).toThrow('integrity_failure');
  });
});
