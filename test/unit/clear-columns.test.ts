import { expect, it } from 'vitest';
import { type ClearColumns, packClear, unpackClear } from '../../src/core/tokens/clear-columns.ts';

const ID = '203548f1-1a78-4e29-8fc5-c16848d9df23';
const COLUMNS: ClearColumns = {
  type: 'card',
  key_id: 1,
  index_key_id: 2,
  revision: 3,
  created_at: 4,
  created_by: ID,
  modified_at: 5,
  modified_by: ID,
  expires_at: 6,
};

it('survive packing and unpacking', () => {
  expect(unpackClear(packClear(COLUMNS, COLUMNS))).toMatchObject(COLUMNS);
});

it('accept only a UUID as the name of an application', () => {
  expect(() => packClear({ ...COLUMNS, modified_by: 'somebody' }, COLUMNS)).toThrow(RangeError);
});
