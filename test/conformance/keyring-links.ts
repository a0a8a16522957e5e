import { describe, expect, test } from 'vitest';
import type { Keyring } from '../../src/core/ports.ts';

/** Tests the keyed hashes in clear columns: a change of any hashed value changes the hash. */
export function keyringLinks(keyring: () => Keyring, tenant: string, otherTenant: string): void {
  const now = 1_700_000_000_000;

  describe('commit marks and tombstone MACs', () => {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

    /** Expects 16 bytes for `whole`, and different bytes after each of the changes. */
    function apart<T extends object>(made: (given: T) => Uint8Array, whole: T, changes: readonly Partial<T>[]): void {
      const all = [{}, ...changes].map((change) => hex(made({ ...whole, ...change })));
      expect(hex(made(whole))).toBe(all[0]);
      expect(new Set(all).size).toBe(all.length);
      expect(all[0]).toHaveLength(32);
    }

    test('a commit mark covers the previous mark, the place, the time and the bytes', () => {
      const link = ({ previous, ...entry }: { previous: Uint8Array } & Parameters<Keyring['commitMark']>[1]) =>
        keyring().commitMark(previous, entry);
      const whole = { previous: new Uint8Array(16), sequence: 5, at: now, sealed: new Uint8Array(80) };
      const changes = [
        { previous: new Uint8Array(16).fill(1) },
        { sequence: 6 },
        { at: now + 1 },
        { sealed: new Uint8Array(80).fill(1) },
      ];
      apart(link, whole, changes);
    });

    test('a subject covers kind, tenant and id', () => {
      const whole: Parameters<Keyring['auditSubject']>[0] = { kind: 'token', tenant_id: tenant, id: 'a' };
      apart((subject) => keyring().auditSubject(subject), whole, [
        { kind: 'application' },
        { kind: 'entity' },
        { kind: 'actor' },
        { tenant_id: otherTenant },
        { id: '' },
      ]);
    });

    test('a subject of the log contains no time, so it does not reveal which record was read', () => {
      const id = '01a1f931-7119-704d-b261-2861a9d687f9';
      for (const kind of ['actor', 'entity'] as const) {
        expect(hex(keyring().auditSubject({ kind, tenant_id: tenant, id }))).not.toMatch(/^01a1f9317119/);
      }
    });

    test('a subject begins with the time of a time-ordered id, and of no other id', () => {
      const id = '01a1f931-7119-704d-b261-2861a9d687f9';
      const begins = (of: string) =>
        hex(keyring().auditSubject({ kind: 'token', tenant_id: tenant, id: of })).slice(0, 12);
      expect(begins(id)).toBe('01a1f9317119');
      expect(begins(id.replace('-704d-', '-404d-'))).not.toBe('01a1f9317119');
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
