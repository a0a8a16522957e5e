import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/fault.ts';
import type {
  IndexPurpose,
  Keyring,
  SealContext,
  TenantKeyring,
  VaultHeader,
  WrappedKey,
} from '../../src/core/ports.ts';
import { Problem } from '../../src/core/problem.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { createKeyring, unlockKeyring } from '../../src/keyring/master-key.ts';
import { createTenantKeys } from '../tenant-keys.ts';

const NOW = 1_700_000_000_000;
const TENANT = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed';
const OTHER_TENANT = '2c0e7cde-ccfe-4c3e-8c6e-bc9e0cce5cfe';
const KEY_FILE: Credential = { kind: 'key_file', key: new Uint8Array(32).fill(0x5a) };
const OTHER_KEY_FILE: Credential = { kind: 'key_file', key: new Uint8Array(32).fill(0x5b) };

const CONTEXT: SealContext = {
  table: 'token',
  id: '0190c2a5-6a2e-7b0e-8f5e-0c1f1b7d2a11',
  column: 'data',
  revision: 3,
  clear: ['card', TENANT, NOW, undefined],
};

/** Each of these contexts differs from CONTEXT. */
const OTHER_CONTEXTS: Readonly<Record<string, SealContext>> = {
  'another table': { ...CONTEXT, table: 'application' },
  'another id': { ...CONTEXT, id: '0190c2a5-6a2e-7b0e-8f5e-0c1f1b7d2a12' },
  'the id in capitals': { ...CONTEXT, id: CONTEXT.id.toUpperCase() },
  'another column': { ...CONTEXT, column: 'masked' },
  'an earlier revision': { ...CONTEXT, revision: 2 },
  'a clear column edited': { ...CONTEXT, clear: ['bank', TENANT, NOW, undefined] },
  'a time edited': { ...CONTEXT, clear: ['card', TENANT, NOW + 1, undefined] },
  'a column set': { ...CONTEXT, clear: ['card', TENANT, NOW, NOW] },
  'a column emptied': { ...CONTEXT, clear: ['card', TENANT, NOW, ''] },
  'a number as text': { ...CONTEXT, clear: ['card', TENANT, String(NOW), undefined] },
  'a column fewer': { ...CONTEXT, clear: ['card', TENANT, NOW] },
  'a column more': { ...CONTEXT, clear: ['card', TENANT, NOW, undefined, undefined] },
  'columns in another order': { ...CONTEXT, clear: [TENANT, 'card', NOW, undefined] },
  'characters moved between columns': { ...CONTEXT, clear: [`card${TENANT[0]}`, TENANT.slice(1), NOW, undefined] },
  'characters moved between fields': { ...CONTEXT, id: `${CONTEXT.id}d`, column: 'ata' },
};

function flipped(bytes: Uint8Array, index: number, mask = 1): Uint8Array {
  return bytes.map((byte, at) => (at === index ? byte ^ mask : byte));
}

function problemOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
  return 'no problem';
}

async function faultOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  return 'no fault';
}

let keyring: Keyring;
let header: VaultHeader;
let keys: readonly WrappedKey[];
let tenant: TenantKeyring;

beforeAll(async () => {
  ({ keyring, header } = await createKeyring(KEY_FILE, { now: NOW }));
  keys = createTenantKeys(keyring, TENANT, NOW);
  tenant = keyring.openTenant(TENANT, keys);
});
afterAll(() => keyring.close());

describe('seal and open', () => {
  test('keep any text, including lone surrogates', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 200 }).map((units) => String.fromCharCode(...units)),
      fc.constantFrom('', '\0', '\0\0\0', '\u0080', '\ufeff', '\ud800', '\udc00\ud800', '\ufffd'),
    );
    fc.assert(
      fc.property(text, (value) => {
        expect(tenant.open(CONTEXT, tenant.seal(CONTEXT, value))).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  test('keep texts of every length around the padding steps', () => {
    for (let length = 0; length < 2200; length += length > 1100 ? 7 : 1) {
      const value = 'é'.repeat(length % 2) + 'x'.repeat(length);
      expect(tenant.open(CONTEXT, tenant.seal(CONTEXT, value)) === value).toBe(true);
    }
  });

  test('open a value only in its own context', () => {
    const clear = fc.array(fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.double()), { nil: undefined }));
    const context: fc.Arbitrary<SealContext> = fc.record({
      table: fc.constantFrom('tenant' as const, 'application' as const, 'token' as const),
      id: fc.string({ unit: 'binary' }),
      column: fc.string(),
      revision: fc.nat(),
      clear,
    });
    fc.assert(
      fc.property(context, context, (one, other) => {
        fc.pre(!isDeepStrictEqual(one, other));
        const sealed = tenant.seal(one, 'value');
        expect(tenant.open(one, sealed)).toBe('value');
        expect(problemOf(() => tenant.open(other, sealed))).toBe('integrity_failure');
      }),
    );
  });

  test.each(Object.entries(OTHER_CONTEXTS))('do not open under a context with %s', (_, other) => {
    const sealed = tenant.seal(CONTEXT, 'value');
    expect(problemOf(() => tenant.open(other, sealed))).toBe('integrity_failure');
    expect(tenant.open(CONTEXT, sealed)).toBe('value');
  });

  test('distinguish contexts that differ only in lone surrogates', () => {
    const sealed = tenant.seal({ ...CONTEXT, id: '\ud800' }, 'value');
    expect(problemOf(() => tenant.open({ ...CONTEXT, id: '\ud801' }, sealed))).toBe('integrity_failure');
    expect(problemOf(() => tenant.open({ ...CONTEXT, id: '\ufffd' }, sealed))).toBe('integrity_failure');
  });

  test('do not open with any bit flipped', () => {
    const sealed = tenant.seal(CONTEXT, 'value');
    for (let index = 0; index < sealed.length; index++) {
      for (let bit = 0; bit < 8; bit++) {
        const altered = flipped(sealed, index, 1 << bit);
        expect(problemOf(() => tenant.open(CONTEXT, altered))).toBe('integrity_failure');
      }
    }
  });

  test('do not open truncated or extended bytes', () => {
    const sealed = tenant.seal(CONTEXT, 'value');
    for (let length = 0; length < sealed.length; length++) {
      expect(problemOf(() => tenant.open(CONTEXT, sealed.subarray(0, length)))).toBe('integrity_failure');
    }
    expect(problemOf(() => tenant.open(CONTEXT, Uint8Array.of(...sealed, 0)))).toBe('integrity_failure');
  });

  test('never repeat the bytes or the nonce', () => {
    const nonces = new Set<string>();
    const count = 2000;
    for (let index = 0; index < count; index++) {
      const nonce = Buffer.from(tenant.seal(CONTEXT, 'value').subarray(5, 29));
      nonces.add(nonce.toString('hex'));
      // A random source that ends in the middle of a nonce would leave these bytes zero.
      expect(nonce.subarray(16).equals(Buffer.alloc(8))).toBe(false);
    }
    expect(nonces.size).toBe(count);
  });

  test('hide lengths: an American Express card is as long as a Visa', () => {
    const size = (data: unknown) => tenant.seal(CONTEXT, JSON.stringify(data)).length;
    const visa = size({ number: '4242424242424242', cvc: '123' });
    expect(size({ number: '378282246310005', cvc: '1234' })).toBe(visa);
    expect(size({ number: '4242424242424242' })).toBe(visa);
    expect(size('x'.repeat(5000))).toBe(size('x'.repeat(5050)));
  });

  test('accept a Buffer that shares its memory, as a store returns it', () => {
    const sealed = tenant.seal(CONTEXT, 'value');
    const slab = Buffer.concat([Buffer.from('before'), sealed, Buffer.from('after')]);
    expect(tenant.open(CONTEXT, slab.subarray(6, 6 + sealed.length))).toBe('value');
  });
});

describe('tenants', () => {
  test('cannot open each other’s values', () => {
    const other = keyring.openTenant(OTHER_TENANT, createTenantKeys(keyring, OTHER_TENANT, NOW));
    expect(problemOf(() => other.open(CONTEXT, tenant.seal(CONTEXT, 'value')))).toBe('integrity_failure');
  });

  test('do not open with altered, moved, relabelled, doubled or missing keys', () => {
    const [data, index] = keys;
    if (data === undefined || index === undefined) throw new Error('unreachable');
    const bad: Readonly<Record<string, readonly WrappedKey[]>> = {
      none: [],
      'no index key': [data],
      'no data key': [index],
      doubled: [data, data, index],
      'another id': [{ ...data, key_id: data.key_id + 7 }, index],
      'another time': [{ ...data, created_at: NOW + 1 }, index],
      'purposes swapped': [
        { ...data, purpose: 'index' },
        { ...index, purpose: 'data' },
      ],
      'bytes swapped': [
        { ...data, wrapped: index.wrapped },
        { ...index, wrapped: data.wrapped },
      ],
      empty: [{ ...data, wrapped: new Uint8Array(0) }, index],
    };
    for (const [what, altered] of Object.entries(bad)) {
      expect([what, problemOf(() => keyring.openTenant(TENANT, altered))]).toEqual([what, 'integrity_failure']);
    }
    for (let at = 0; at < data.wrapped.length; at++) {
      const altered = [{ ...data, wrapped: flipped(data.wrapped, at) }, index];
      expect(problemOf(() => keyring.openTenant(TENANT, altered))).toBe('integrity_failure');
    }
    expect(problemOf(() => keyring.openTenant(OTHER_TENANT, keys))).toBe('integrity_failure');
  });

  test('of another vault do not open, even with the same credential', async () => {
    const other = await createKeyring(KEY_FILE, { now: NOW });
    expect(problemOf(() => other.keyring.openTenant(TENANT, keys))).toBe('integrity_failure');
    expect(other.header.vault_id).not.toBe(header.vault_id);
    other.keyring.close();
  });
});

describe('blind indexes, fingerprints, API-key hashes', () => {
  const purposes: readonly IndexPurpose[] = ['fingerprint', 'metadata', 'search', 'container_prefix', 'container'];
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

  test('are equal for equal input and unrelated for another value, purpose, type, tenant or vault', async () => {
    const other = keyring.openTenant(OTHER_TENANT, createTenantKeys(keyring, OTHER_TENANT, NOW));
    const vault = await createKeyring(KEY_FILE, { now: NOW });
    const seen = new Map<string, string>();
    const add = (what: string, value: string) => seen.set(value, what);
    let count = 0;
    for (const [whose, ring] of Object.entries({ tenant, other })) {
      for (const value of ['', 'a', 'b', 'é', '\ud800', '\ud801', '\ufffd']) {
        for (const purpose of purposes) {
          const index = hex(ring.blindIndex(purpose, value));
          expect(hex(ring.blindIndex(purpose, value))).toBe(index);
          add(`${whose} ${purpose} ${value}`, index);
          count++;
        }
        for (const type of ['card', 'car', '']) {
          for (const source of ['data', 'expression'] as const) {
            const fingerprint = ring.fingerprint(type, source, value);
            expect(ring.fingerprint(type, source, value)).toBe(fingerprint);
            add(`${whose} ${type} ${source} ${value}`, fingerprint);
            count++;
          }
        }
      }
    }
    for (const [whose, ring] of Object.entries({ keyring, vault: vault.keyring })) {
      for (const key of ['key_a', 'key_b']) {
        expect(hex(ring.apiKeyHash(key))).toBe(hex(ring.apiKeyHash(key)));
        add(`${whose} ${key}`, hex(ring.apiKeyHash(key)));
        count++;
      }
    }
    vault.keyring.close();
    expect(seen.size).toBe(count);
  });

  test('a fingerprint separates type and value', () => {
    expect(tenant.fingerprint('car', 'data', 'dvalue')).not.toBe(tenant.fingerprint('card', 'data', 'value'));
  });
});

describe('unlock', () => {
  test('returns the same keys', async () => {
    const again = await unlockKeyring(header, KEY_FILE);
    const opened = again.openTenant(TENANT, keys);
    expect(opened.open(CONTEXT, tenant.seal(CONTEXT, 'value'))).toBe('value');
    expect(opened.fingerprint('card', 'data', 'value')).toBe(tenant.fingerprint('card', 'data', 'value'));
    expect(opened.blindIndex('search', 'value')).toEqual(tenant.blindIndex('search', 'value'));
    expect(again.apiKeyHash('key_x')).toEqual(keyring.apiKeyHash('key_x'));
    again.close();
  });

  test('rejects another key file, one of another size, and a passphrase without a passphrase slot', async () => {
    expect(await faultOf(unlockKeyring(header, OTHER_KEY_FILE))).toBe('wrong_credential');
    for (const size of [0, 31, 33, 64]) {
      const credential: Credential = { kind: 'key_file', key: new Uint8Array(size).fill(0x5a) };
      expect(await faultOf(unlockKeyring(header, credential))).toBe('wrong_credential');
    }
    const passphrase: Credential = { kind: 'passphrase', passphrase: 'correct horse battery staple' };
    expect(await faultOf(unlockKeyring(header, passphrase))).toBe('wrong_credential');
  });

  test('detects every altered byte of every slot and of the MAC', async () => {
    for (const [position, slot] of header.slots.entries()) {
      for (let index = 0; index < slot.bytes.length; index++) {
        const slots = header.slots.map((kept, at) =>
          at === position ? { ...kept, bytes: flipped(kept.bytes, index) } : kept,
        );
        expect(await faultOf(unlockKeyring({ ...header, slots }, KEY_FILE))).toBe('damaged');
      }
    }
    for (let index = 0; index < header.mac.length; index++) {
      const mac = flipped(header.mac, index);
      expect(await faultOf(unlockKeyring({ ...header, mac }, KEY_FILE))).toBe('damaged');
    }
  });

  test('detects every altered field of the header', async () => {
    const [slot] = header.slots;
    if (slot === undefined) throw new Error('unreachable');
    const altered: Readonly<Record<string, VaultHeader>> = {
      'vault id': { ...header, vault_id: OTHER_TENANT },
      'older format': { ...header, format: header.format - 1 },
      'odd format': { ...header, format: Number.NaN },
      'created at': { ...header, created_at: NOW + 1 },
      generation: { ...header, generation: header.generation + 1 },
      'slot number': { ...header, slots: [{ ...slot, slot: slot.slot + 1 }] },
      'slot twice': { ...header, slots: [slot, slot] },
      'slot copied': { ...header, slots: [slot, { ...slot, slot: slot.slot + 1 }] },
      'slot out of range': { ...header, slots: [{ ...slot, slot: 8 }] },
      'no slots': { ...header, slots: [] },
      'empty slot': { ...header, slots: [{ ...slot, bytes: new Uint8Array(0) }] },
      'cut slot': { ...header, slots: [{ ...slot, bytes: slot.bytes.subarray(1) }] },
      'no MAC': { ...header, mac: new Uint8Array(0) },
      'cut MAC': { ...header, mac: header.mac.subarray(1) },
    };
    for (const [what, changed] of Object.entries(altered)) {
      expect([what, await faultOf(unlockKeyring(changed, KEY_FILE))]).toEqual([what, 'damaged']);
    }
  });

  test('reports a newer format as such', async () => {
    expect(await faultOf(unlockKeyring({ ...header, format: header.format + 1 }, KEY_FILE))).toBe('newer_format');
  });
});

test('a closed keyring and its tenants reject every call', async () => {
  const closing = await unlockKeyring(header, KEY_FILE);
  const opened = closing.openTenant(TENANT, keys);
  const sealed = opened.seal(CONTEXT, 'value');
  closing.close();
  closing.close();
  const acts: readonly (() => unknown)[] = [
    () => closing.openTenant(TENANT, keys),
    () => createTenantKeys(closing, TENANT, NOW),
    () => closing.apiKeyHash('key_x'),
    () => opened.open(CONTEXT, sealed),
    () => opened.seal(CONTEXT, 'value'),
    () => opened.blindIndex('search', 'value'),
    () => opened.fingerprint('card', 'data', 'value'),
  ];
  for (const act of acts) expect(problemOf(act)).toBe('vault_locked');
  expect(tenant.open(CONTEXT, sealed)).toBe('value');
});

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
      tenant_id: TENANT,
      id: 'a',
      revision: 1,
    };
    const changes = [{ table: 'tenant' as const }, { tenant_id: OTHER_TENANT }, { id: 'b' }, { revision: 2 }];
    const all = [{}, ...changes].map((change) => keyring.recordHash({ ...whole, ...change }));
    expect(keyring.recordHash(whole)).toBe(all[0]);
    expect(new Set(all).size).toBe(all.length);
    for (const hash of all) expect(hash >> 64n > 0n && hash < 1n << 128n).toBe(true);
  });

  test('a subject covers kind, tenant and id', () => {
    const whole: Parameters<Keyring['auditSubject']>[0] = { kind: 'entity', tenant_id: TENANT, id: 'a' };
    apart((subject) => keyring.auditSubject(subject), whole, [
      { kind: 'actor' },
      { tenant_id: OTHER_TENANT },
      { id: '' },
    ]);
  });

  test('a tombstone’s MAC covers all members', () => {
    const whole: Parameters<Keyring['tombstoneMac']>[0] = {
      tenant_id: TENANT,
      id: 'gone',
      type: 'card',
      created_by: TENANT,
      created_at: NOW,
      deleted_by: TENANT,
      deleted_at: NOW + 1,
    };
    apart((tombstone) => keyring.tombstoneMac(tombstone), whole, [
      { tenant_id: OTHER_TENANT },
      { id: 'gone-too' },
      { type: 'bank' },
      { created_by: OTHER_TENANT },
      { created_at: NOW + 2 },
      { deleted_by: undefined },
      { deleted_by: OTHER_TENANT },
      { deleted_at: NOW + 2 },
    ]);
  });
});
