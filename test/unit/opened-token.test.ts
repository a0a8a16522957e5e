import { beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_TYPE_NAMES, TOKEN_TYPES, type TokenTypeRow } from '../../src/contract/token-types.ts';
import type { TenantKeyring, TokenRecord } from '../../src/core/ports.ts';
import { presentedColumns, recordColumns, unpackClear } from '../../src/core/tokens/clear-columns.ts';
import {
  DEFAULT_FINGERPRINT,
  openFull,
  openPresented,
  openToken,
  sealToken,
  type TokenContents,
  type TokenDefinition,
} from '../../src/core/tokens/token-codec.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { createTenantKeys } from '../tenant-keys.ts';

const DETAILS = { containers: ['/pci/high/'], fingerprint: 'J6mE9HuhLubfAACqfVcYx2wnaSrzsw7JXPJdGPV5LPsv' };
const UNSEALED = {
  id: 'a-token',
  tenant_id: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11',
  type: 'card',
  created_by: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c12',
  created_at: 1_800_000_000_000,
  revision: 1,
  active_month: 1,
} as const;

let keyring: TenantKeyring;
beforeAll(async () => {
  const { keyring: whole } = await createKeyring({ kind: 'key_file', key: new Uint8Array(32).fill(5) }, { now: 0 });
  keyring = whole.openTenant(UNSEALED.tenant_id, createTenantKeys(whole, UNSEALED.tenant_id, 0));
});

const definitionOf = (type: keyof typeof TOKEN_TYPES): TokenDefinition => {
  const { mask, search_indexes }: TokenTypeRow = TOKEN_TYPES[type];
  return { mask, search_indexes, fingerprint_expression: DEFAULT_FINGERPRINT };
};

const CARD = { data: '1', details: DETAILS, definition: definitionOf('card') };

function seal(contents: Partial<TokenContents>, type: keyof typeof TOKEN_TYPES = 'card') {
  const whole = { data: '"x"', details: DETAILS, definition: definitionOf(type), ...contents };
  return sealToken(keyring, { ...UNSEALED, type }, whole);
}

const open = (record: TokenRecord) => openPresented(keyring, record.id, record, recordColumns(record));

describe('the sealed values of a token', () => {
  it.each([
    {},
    { expires_at: '2030-01-31T00:00:00.000+01:00' },
    { metadata: {} },
    { metadata: { customer: 'line\none\ttwo "quoted" \\ Zoë 🃏', '2': 'two', '1': 'one', __proto__x: '' } },
    { searched: 'AAECAwQFBgcICQoLDA0ODw' },
    { metadata: {}, searched: 'AAECAwQFBgcICQoLDA0ODw EBESExQVFhcYGRobHB0eHw' },
    { containers: ['/', '/pci/high/', '/a-b_c/1/'], metadata: { lone: '\ud800', empty: '' } },
  ])('keep the details %j', (more) => {
    const details = { ...DETAILS, ...more };
    const record = seal({ details, data: '{"a":"\\n"}', masked: '["m"]' });
    expect(openToken(keyring, record.id, record).contents).toMatchObject({
      details,
      data: '{"a":"\\n"}',
      masked: '["m"]',
    });
    for (const opened of [open(record), openFull(keyring, record.id, record, recordColumns(record))]) {
      const { metadata, ...shown } = opened.details;
      expect({ ...shown, metadata: metadata && JSON.parse(metadata.text) }).toEqual(details);
    }
  });

  it('keep the order of metadata, including integer-like names', () => {
    const details = { ...DETAILS, metadata: { b: '1', a: '2' } };
    expect(open(seal({ details })).details.metadata?.text).toBe('{"b":"1","a":"2"}');
  });

  it.each(TOKEN_TYPE_NAMES)('hold the default definition of %s in one character', (type) => {
    const record = seal({}, type);
    expect(openToken(keyring, record.id, record).contents.definition).toEqual(definitionOf(type));
    expect(open(record).definitionText).toHaveLength(1);
  });

  it.each([
    { fingerprint_expression: DEFAULT_FINGERPRINT },
    { mask: null, fingerprint_expression: DEFAULT_FINGERPRINT },
    { mask: '1', fingerprint_expression: '1' },
    { ...definitionOf('card'), fingerprint_expression: '{{ data.number }}' },
    { ...definitionOf('card'), search_indexes: ['{{ data.number }}'] },
    definitionOf('bank'),
  ])('keep the definition %j', (definition) => {
    const record = seal({ definition });
    expect(openToken(keyring, record.id, record).contents.definition).toEqual(definition);
  });

  it('open neither for another id nor in another column', () => {
    const record = seal({ masked: '"m"' });
    expect(open(record).masked).toBe('"m"');
    const columns = recordColumns(record);
    expect(() => openPresented(keyring, 'another', record, columns)).toThrow('integrity_failure');
    expect(() => openFull(keyring, 'another', record, columns)).toThrow('integrity_failure');
    expect(() => open({ ...record, presented: record.full })).toThrow('integrity_failure');
  });
});

describe('the clear columns of a token', () => {
  const whole = {
    ...UNSEALED,
    modified_by: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c13',
    modified_at: 1_800_000_000_001,
    expires_at: 253_402_300_799_999,
    revision: 4_294_967_297,
  };

  it.each([UNSEALED, whole])('survive packing: %j', (unsealed) => {
    const record = sealToken(keyring, unsealed, CARD);
    expect(openToken(keyring, unsealed.id, record).unsealed).toEqual({ ...unsealed, key_id: 1, index_key_id: 2 });
  });

  it.each(Array.from({ length: 106 }, (_, at) => at))('bind both values: byte %i altered', (at) => {
    const record = sealToken(keyring, whole, CARD);
    const clear = record.clear.map((byte, index) => (index === at ? byte ^ 1 : byte));
    const altered = { ...record, clear };
    expect(() => openPresented(keyring, whole.id, altered, recordColumns(record))).toThrow('integrity_failure');
    expect(() => openFull(keyring, whole.id, altered, recordColumns(record))).toThrow('integrity_failure');
  });

  it.each([
    { type: 'bank' },
    { created_at: 1 },
    { expires_at: undefined },
    { revision: 2 },
    { key_id: 9 },
    { index_key_id: 9 },
  ] as const)('must be those that the row was found by: %j', (edit) => {
    const record = sealToken(keyring, whole, CARD);
    expect(() => openToken(keyring, whole.id, { ...record, ...edit })).toThrow('integrity_failure');
  });

  it.each([undefined, 1, 9e12])('must expire at the time of the row, not at %j', (expires_at) => {
    const record = sealToken(keyring, whole, CARD);
    expect(presentedColumns(record)).toEqual(recordColumns(record));
    expect(() => presentedColumns({ ...record, expires_at })).toThrow('integrity_failure');
  });

  it('name applications by UUIDs only', () => {
    expect(() => sealToken(keyring, { ...whole, modified_by: 'somebody' }, CARD)).toThrow(RangeError);
  });

  it.each([[0], [69], [71], [105], [107]])('are rejected with %i bytes', (length) => {
    const { clear } = sealToken(keyring, whole, CARD);
    const cut = new Uint8Array(length);
    cut.set(clear.subarray(0, length));
    expect(() => unpackClear(cut)).toThrow('integrity_failure');
  });
});
