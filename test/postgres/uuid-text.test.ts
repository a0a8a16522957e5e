import { describe, expect, it } from 'vitest';
import { blindText, storedBlind, storedUuid, uuidKey, uuidValue } from '../../src/store/postgres/uuid-text.ts';

const ID = '0123abcd-4567-89ab-cdef-0123456789ab';
const OTHERS = [
  ID.toUpperCase(),
  ID.replaceAll('-', ''),
  `{${ID}}`,
  `${ID} `,
  `${ID}\n`,
  `x${ID}`,
  ID.slice(1),
  '',
  'no id',
  `${ID.slice(1)}\0`,
];

describe('an id of a tenant or an application', () => {
  it('is looked up and stored only in its canonical form, which PostgreSQL does not require', () => {
    expect([uuidKey(ID), uuidValue(ID), storedUuid(ID)]).toEqual([ID, ID, ID]);
    for (const other of OTHERS) {
      expect(uuidKey(other)).toBeNull();
      expect(() => uuidValue(other)).toThrow(RangeError);
      expect(() => storedUuid(other)).toThrow('integrity_failure');
    }
    expect(() => storedUuid(null)).toThrow('integrity_failure');
  });
});

describe('a blind index', () => {
  it('is stored as the UUID of its bytes', () => {
    const bytes = Buffer.from(ID.replaceAll('-', ''), 'hex');
    const part = new Uint8Array(Buffer.concat([Buffer.alloc(3), bytes, Buffer.alloc(3)])).subarray(3, 19);
    expect([blindText(bytes), blindText(part)]).toEqual([ID, ID]);
    expect(storedBlind(ID)).toEqual(bytes);
    for (const length of [0, 15, 17]) expect(() => blindText(new Uint8Array(length))).toThrow(RangeError);
    expect(() => storedBlind(bytes)).toThrow('integrity_failure');
  });
});
