import { describe, expect, test } from 'vitest';
import type { Keyring } from '../../src/core/ports.ts';

/** What a keyring promises of the keyed hashes that stand in the clear: nothing that they are over can be changed. */
export function keyringLinks(keyring: () => Keyring, tenant: string, otherTenant: string): void {
  const now = 1_700_000_000_000;

  describe('links of the audit, MACs of tombstones', () => {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

    /** The bytes for `whole`, then for each with one member changed: no two alike. */
    function apart<T extends object>(made: (given: T) => Uint8Array, whole: T, changes: readonly Partial<T>[]): void {
      const all = [{}, ...changes].map((change) => hex(made({ ...whole, ...change })));
      expect(hex(made(whole))).toBe(all[0]);
      expect(new Set(all).size).toBe(all.length);
      expect(all[0]).toHaveLength(32);
    }

    test('a link is over the one before it, the place, the time and the bytes', () => {
      const link = ({ previous, ...entry }: { previous: Uint8Array } & Parameters<Keyring['auditLink']>[1]) =>
        keyring().auditLink(previous, entry);
      const whole = { previous: new Uint8Array(16), sequence: 5, at: now, sealed: new Uint8Array(80) };
      const changes = [
        { previous: new Uint8Array(16).fill(1) },
        { sequence: 6 },
        { at: now + 1 },
        { sealed: new Uint8Array(80).fill(1) },
      ];
      apart(link, whole, changes);
    });

    test('a subject is over kind, tenant and id', () => {
      const whole: Parameters<Keyring['auditSubject']>[0] = { kind: 'token', tenant_id: tenant, id: 'a' };
      apart((subject) => keyring().auditSubject(subject), whole, [
        { kind: 'application' },
        { kind: 'entity' },
        { kind: 'actor' },
        { tenant_id: otherTenant },
        { id: '' },
      ]);
    });

    test('a subject of the log says no time: of which record somebody asked stays hidden', () => {
      const id = '01a1f931-7119-704d-b261-2861a9d687f9';
      for (const kind of ['actor', 'entity'] as const) {
        expect(hex(keyring().auditSubject({ kind, tenant_id: tenant, id }))).not.toMatch(/^01a1f9317119/);
      }
    });

    test('a subject begins with the time of an id that is ordered by time, and of no other', () => {
      const id = '01a1f931-7119-704d-b261-2861a9d687f9';
      const begins = (of: string) =>
        hex(keyring().auditSubject({ kind: 'token', tenant_id: tenant, id: of })).slice(0, 12);
      expect(begins(id)).toBe('01a1f9317119');
      expect(begins(id.replace('-704d-', '-404d-'))).not.toBe('01a1f9317119');
    });

    test('a tombstone’s MAC is over all of it', () => {
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
