import { decodeEvents, encodeEvents, type TimedEvent } from '../../src/core/audit/audit-event.ts';
import { linkOf } from '../../src/core/audit/audit-link.ts';
import type { DigestedTable } from '../../src/core/audit/ports.ts';
import { openCarriedKeys } from '../../src/keyring/carried-keys.ts';
import { padText } from '../../src/keyring/envelope.ts';
import { encodeFields, type Field } from '../../src/keyring/field-encoder.ts';
import { headerMac } from '../../src/keyring/header-mac.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { decodeSlot, unwrapMasterKey } from '../../src/keyring/slot.ts';
import { loadSodium } from '../../src/keyring/sodium.ts';
import { deriveFromMaster, type MASTER_SUB_KEYS } from '../../src/keyring/sub-keys.ts';

const sodium = await loadSodium();

/** The vault of the vectors. Its key file and its master key stand in slot.json, too. */
const VAULT = { vault_id: '7d3c1c0a-5a3c-4f0e-9a53-1f6f0b8a2c11', format: 1, generation: 1 };
const MASTER = bytes('ffd803063dc1bdfc0f47e7fd4c663260b7690c13411e455a33b46a29c6bcdb5d');

const keyring = openKeyring(sodium, VAULT, MASTER);

/** The tables of records in digests. A new table needs vectors. */
export const DIGESTED_TABLES = {
  header: true,
  tenant: true,
  tenant_key: true,
  application: true,
  application_key: true,
  token: true,
  tombstone: true,
} as const satisfies Record<DigestedTable, true>;

function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'));
}

const hex = (found: Uint8Array) => Buffer.from(found).toString('hex');

/** Returns the field of a JSON value: `{"hex":…}` is bytes, and null an absent field. */
function fieldOf(value: unknown): Field {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(fieldOf);
  return typeof value === 'object' ? bytes((value as { readonly hex: string }).hex) : (value as Field);
}

/** Computes the last field of a case of `format.txt` from the others, by the name of its part. */
export const FORMAT_CHECKS: Readonly<Record<string, (...fields: readonly string[]) => string | Promise<string>>> = {
  fields: (values = '') => hex(encodeFields(...JSON.parse(values).map(fieldOf))),
  padding: (text = '') => hex(padText(JSON.parse(text))).replace(/(00)+$/, (zeros) => ` 00 × ${zeros.length / 2}`),
  'sub-keys': (_id, name = '') => hex(deriveFromMaster(sodium, MASTER, name as keyof typeof MASTER_SUB_KEYS)),
  async slot(number = '', key = '', slot = '') {
    const credential = { kind: 'key_file', key: bytes(key) } as const;
    const decoded = decodeSlot(Number(number), bytes(slot));
    return hex((await unwrapMasterKey(sodium, VAULT, Number(number), decoded, credential)) ?? new Uint8Array());
  },
  header(created = '', slots = '') {
    const records = slots.split(' ').map((slot, index) => ({ slot: index, bytes: bytes(slot) }));
    return hex(headerMac(sodium, { ...VAULT, created_at: Number(created), slots: records }, MASTER));
  },
  carried(generation = '', master = '', carried = '') {
    const header = { ...VAULT, generation: Number(generation), carried: bytes(carried) };
    const keys = Object.values(openCarriedKeys(sodium, bytes(master), header));
    return keys.map(hex).join(' ');
  },
  record(table = '', tenant_id = '', id = '', revision = '') {
    const record = { table: table as DigestedTable, tenant_id: tenant_id.replace('(none)', ''), id };
    return keyring
      .recordHash({ ...record, revision: Number(revision) })
      .toString(16)
      .padStart(32, '0');
  },
  link(previous = '', rows = '') {
    const read: readonly (readonly [number, number, string])[] = JSON.parse(rows);
    const linked = read.map(([sequence, at, sealed]) => ({ sequence, at, sealed: bytes(sealed) }));
    return hex(linkOf(bytes(previous), linked));
  },
  events(at = '', text = '') {
    const events: readonly TimedEvent[] = decodeEvents(Number(at), JSON.parse(text));
    return encodeEvents(events) === JSON.parse(text) ? JSON.stringify(events) : 'encoded otherwise';
  },
  row: (at = '', sealed = '') => JSON.stringify(keyring.openAuditEvent(Number(at), bytes(sealed))),
  base(sequence = '', at = '', link = '', sealed = '') {
    const row = { sequence: Number(sequence), at: Number(at), link: bytes(link), sealed: bytes(sealed) };
    return JSON.stringify(keyring.openAuditBase(row));
  },
  mac: (text = '') => hex(keyring.anchorMac(JSON.parse(text))),
};
