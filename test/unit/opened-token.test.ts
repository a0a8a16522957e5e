import { beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_TYPE_NAMES, TOKEN_TYPES, type TokenTypeRow } from '../../src/contract/token-types.ts';
import type { TenantKeyring } from '../../src/core/ports.ts';
import {
  DEFAULT_FINGERPRINT,
  openDefinition,
  openDetails,
  openPresentedDetails,
  openText,
  sealToken,
  type TokenContents,
  type TokenDefinition,
} from '../../src/core/tokens/token-codec.ts';
import { createKeyring } from '../../src/keyring/create-keyring.ts';
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

function seal(contents: Partial<TokenContents>, type: keyof typeof TOKEN_TYPES = 'card') {
  const whole = { data: '"x"', details: DETAILS, definition: definitionOf(type), ...contents };
  return sealToken(keyring, { ...UNSEALED, type }, whole);
}

describe('the sealed values of a token', () => {
  it.each([
    {},
    { expires_at: '2030-01-31T00:00:00.000+01:00' },
    { metadata: {} },
    { metadata: { customer: 'line\none\ttwo "quoted" \\ Zoë 🃏', '2': 'two', '1': 'one', __proto__x: '' } },
    { containers: ['/', '/pci/high/', '/a-b_c/1/'], metadata: { lone: '\ud800', empty: '' } },
  ])('gives back the details %j', (more) => {
    const details = { ...DETAILS, ...more };
    const record = seal({ details });
    expect(openDetails(keyring, record.id, record)).toEqual(details);
    const { metadata, ...shown } = openPresentedDetails(keyring, record.id, record);
    expect({ ...shown, metadata: metadata && JSON.parse(metadata.text) }).toEqual(details);
  });

  it('keeps the order of metadata, integer-like names too', () => {
    const details = { ...DETAILS, metadata: { b: '1', a: '2' } };
    expect(openPresentedDetails(keyring, UNSEALED.id, seal({ details })).metadata?.text).toBe('{"b":"1","a":"2"}');
  });

  it.each(TOKEN_TYPE_NAMES)('holds the definition that %s has by itself in one step of padding', (type) => {
    const record = seal({}, type);
    expect(openDefinition(keyring, record.id, record)).toEqual(definitionOf(type));
    expect(record.definition).toHaveLength(64 + 45);
  });

  it.each([
    { fingerprint_expression: DEFAULT_FINGERPRINT },
    { mask: null, fingerprint_expression: DEFAULT_FINGERPRINT },
    { mask: '1', fingerprint_expression: '1' },
    { ...definitionOf('card'), fingerprint_expression: '{{ data.number }}' },
    { ...definitionOf('card'), search_indexes: ['{{ data.number }}'] },
    definitionOf('bank'),
  ])('gives back the definition %j', (definition) => {
    const record = seal({ definition });
    expect(openDefinition(keyring, record.id, record)).toEqual(definition);
  });

  it('opens neither for another id nor from another column', () => {
    const record = seal({ masked: '"m"' });
    expect(openText(keyring, record.id, record, 'masked')).toBe('"m"');
    expect(() => openDetails(keyring, 'another', record)).toThrow('integrity_failure');
    expect(() => openDetails(keyring, record.id, { ...record, details: record.definition })).toThrow(
      'integrity_failure',
    );
  });
});
