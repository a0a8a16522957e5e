import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MASTER_SUB_KEYS } from '../../src/keyring/sub-keys.ts';
import { DIGESTED_TABLES, FORMAT_CHECKS } from '../vectors/format.ts';
import { readTable, readVectors } from '../vectors/read-vectors.ts';

const ROWS = readTable('format');
const PAGE = readFileSync(new URL('../../docs/format.md', import.meta.url), 'utf8');

const casesOf = (part: string) => ROWS.filter((row) => row.part === part).map(({ fields }) => fields);

describe.each(Object.entries(FORMAT_CHECKS))('%s', (part, check) => {
  const cases = casesOf(part);

  it.each(cases)('%s, %s', async (...fields) => {
    expect(await check(...fields.slice(0, -1))).toBe(fields.at(-1));
  });

  it('stands on the page', () => {
    expect(cases).not.toHaveLength(0);
    expect(PAGE).toContain(`<!-- table: format-${part} -->`);
  });
});

it('every part is checked', () => {
  expect([...new Set(ROWS.map(({ part }) => part))]).toEqual(Object.keys(FORMAT_CHECKS));
});

it('every derived key and every table of records has a vector', () => {
  expect(casesOf('sub-keys').map(([id, name]) => [name, Number(id)])).toEqual(Object.entries(MASTER_SUB_KEYS));
  expect(casesOf('record').map(([table]) => table)).toEqual(Object.keys(DIGESTED_TABLES));
});

it('the slot and the header are those of slot.json', () => {
  const { header } = readVectors<{ readonly header: { readonly slots: readonly { readonly bytes: string }[] } }>(
    'slot',
  );
  expect(casesOf('slot')[0]?.[2]).toBe(header.slots[0]?.bytes);
});
