import { describe, expect, test } from 'vitest';
import type { Keyring } from '../../src/core/ports.ts';

/** Tests the keyed hashes in clear columns: a change of any hashed value changes the hash. */
export function keyringLinks(keyring: () => Keyring, tenant: string, otherTenant: string): void {
  const now = 1_700_000_000_000;

  describe('hashes of records and tombstone MACs', () => {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

    /** Expects 16 bytes for `whole`, and different bytes after each of the changes. */
    function apart<T extends object>(made: (given: T) => Uint8Array, whole: T, changes: readonly Partial<T>[]): void {
      const all = [{}, ...changes].map((change) => hex(made({ ...whole, ...change })));
      expect(hex(made(whole))).toBe(all[0]);
      expect(new Set(all).size).toBe(all.length);
      expect(all[0]).toHaveLength(32);
    }

    test('the hash of a record covers its table, tenant, id and revision', () => {
      const whole: Parameters<Keyring['recordHash']>[0] = {
        table: 'application',
        tenant_id: tenant,
        id: 'a',
        revision: 1,
      };
      const changes = [{ table: 'tenant' as const }, { tenant_id: otherTenant }, { id: 'b' }, { revision: 2 }];
      const all = [{}, ...changes].map((change) => keyring().recordHash({ ...whole, ...change }));
      expect(keyring().recordHash(whole)).toBe(all[0]);
      expect(new Set(all).size).toBe(all.length);
      for (const hash of all) expect(hash >> 64n > 0n && hash < 1n << 128n).toBe(true);
    });

    test('a subject covers kind, tenant and id', () => {
      const whole: Parameters<Keyring['auditSubject']>[0] = { kind: 'entity', tenant_id: tenant, id: 'a' };
      apart((subject) => keyring().auditSubject(subject), whole, [
        { kind: 'actor' },
        { tenant_id: otherTenant },
        { id: '' },
      ]);
    });

    test('a tombstone’s MAC covers all members', () => {
      const whole: Parameters<Keyring['tombstoneMac']>[0] = {
        tenant_id: tenant,
        id: 'gone',
        type: 'card',
        created_by: tenant,
        created_at: now,
        deleted_by: tenant,
        deleted_at: now + 1,
      };
      apart((tombstone) => keyring().tombstoneMac(tombstone), whole, [
        { tenant_id: otherTenant },
        { id: 'gone-too' },
        { type: 'bank' },
        { created_by: otherTenant },
        { created_at: now + 2 },
        { deleted_by: undefined },
        { deleted_by: otherTenant },
        { deleted_at: now + 2 },
      ]);
    });
  });
}
