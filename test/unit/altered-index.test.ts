import { describe, expect, it } from 'vitest';
import { swappedIndex } from '../checks/swapped-index.ts';
import { TAMPER_EDITS } from '../checks/tamper-edits.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { testAlteredIndex } from '../conformance/altered-index.ts';
import { callOnce, callVault, fileVault, RULE, withVault } from './vault-admin-fixture.ts';

const MOVED = TAMPER_EDITS['an index entry moved to another token']?.[0] ?? '';
const CREATE = ['createToken', { body: { type: 'token', data: 1, deduplicate_token: true } }] as const;
const PATCH = ['updateToken', { id: 'token-0', body: { data: 1, deduplicate_token: true } }] as const;
const DAMAGED = { status: 500, body: { type: 'urn:token-vault:problem:integrity_failure' } };

describe('an index entry of a fingerprint', () => {
  it.each([
    ['in its place', '', CREATE, { body: { id: 'token-1' } }],
    ['in its place', '', PATCH, { body: { id: 'token-0' } }],
    ['moved to another token', MOVED, CREATE, DAMAGED],
    ['moved to another token', MOVED, PATCH, DAMAGED],
  ] as const)('%s', async (_what, edit, [operation, parts], expected) => {
    const { file, apiKey } = await fileVault(3);
    await tamperFile(file, (connection) => connection.exec(edit));
    const reply = await callOnce({ file }, apiKey, operation, parts);
    expect(reply).toMatchObject(expected);
  });
});

describe('altered indexes of a file', () => {
  testAlteredIndex({
    async create() {
      const { file, management } = await fileVault(0);
      return { location: { file }, management };
    },
    alter: ({ file = '' }, sql) => tamperFile(file, (connection) => void connection.exec(sql)),
    isAlwaysNoticed: true,
  });
});

it('a rule for token:search shows no token of another container, whatever its container set', async () => {
  const { file, management } = await fileVault(0);
  const [read, search] = [['token:create', 'token:read'], ['token:search']];
  const rules = [{ ...RULE, container: '/alice/', permissions: search }];
  const body = { name: 'a', type: 'private', permissions: read, rules };
  const find = async (apiKey: string) => {
    const query = 'created_at:[* TO *]';
    return callOnce({ file }, apiKey, 'searchTokens', { body: { query } });
  };
  const apiKey = await withVault(file, async (vault) => {
    const key: string = (await callVault(vault, management, 'createApplication', { body })).body['key'];
    for (const id of ['alice', 'bob']) {
      const token = { id, type: 'token', data: id, containers: [`/${id}/`] };
      expect(await callVault(vault, key, 'createToken', { body: token })).toMatchObject({ status: 201 });
    }
    return key;
  });
  expect(await find(apiKey)).toMatchObject({ status: 200, body: { data: [{ id: 'alice' }] } });
  const edit = swappedIndex('alice', 'bob')['the container sets of two tokens exchanged'];
  await tamperFile(file, (connection) => void connection.exec(edit));
  expect(await find(apiKey)).toMatchObject(DAMAGED);
});
