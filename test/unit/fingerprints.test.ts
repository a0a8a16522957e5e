import { beforeAll, describe, expect, it } from 'vitest';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';
import { readTable } from '../vectors/read-vectors.ts';

let world: TestVault;
const atEnd = atEndOfSuite();
let key: string;

beforeAll(async () => {
  world = await openTestVault('fingerprints', { atEnd });
  const permissions = ['token:create', 'token:read'];
  key = await world.application({ name: 'a', type: 'private', permissions });
});

/** Returns the body of a create. `source` is the data, or the data, ` by ` and the fingerprint expression. */
function bodyText(source = '', more = ''): string {
  const [data, expression] = source.split(' by ');
  const by = expression === undefined ? '' : `,"fingerprint_expression":${JSON.stringify(expression)}`;
  return `{"type":"token","data":${data}${by}${more}}`;
}

async function create(source: string | undefined, more?: string) {
  const made = await world.call(key, 'createToken', { bodyText: bodyText(source, more) });
  expect(made.status, made.text).toBe(201);
  return { id: made.at('id'), fingerprint: made.at('fingerprint') };
}

const pairs = readTable('fingerprints').filter(({ part }) => part !== 'text');
const texts = readTable('fingerprints').filter(({ part }) => part === 'text');

describe('fingerprints of a pair (§2.1, decisions §7)', () => {
  it.each(pairs.map(({ part, fields: [one, other] }) => [one, part, other]))(
    '%s is %s: %s',
    async (one, part, other) => {
      const isEqual = part === 'equal';
      const first = await create(one);
      const second = await create(other, ',"deduplicate_token":true');
      expect(second.fingerprint === first.fingerprint).toBe(isEqual);
      // Deduplication returns the oldest token with the fingerprint, perhaps one of an earlier pair.
      const again = await create(one, ',"deduplicate_token":true');
      expect(second.id === again.id).toBe(isEqual);
    },
  );
});

describe('a preview', () => {
  it.each(texts.map(({ fields }) => fields))('of %s shows the text %s', async (source, text) => {
    const { status, at } = await world.call(key, 'previewToken', { bodyText: bodyText(source) });
    expect([status, at('fingerprinted')]).toEqual([200, text]);
  });
});

it('fingerprints data beyond the output limit of expressions by the default, however spaced', async () => {
  const long = JSON.stringify('long '.repeat(20_000));
  expect(await create(`${long} by {{data|stringify}}`)).toMatchObject({
    fingerprint: (await create(long)).fingerprint,
  });
  const refused = await world.call(key, 'createToken', { bodyText: bodyText(`${long} by {{ data }}`) });
  expect([refused.status, Object.keys(refused.at('errors') as object)]).toEqual([400, ['fingerprint_expression']]);
});
