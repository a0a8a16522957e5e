import { describe, expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { removeWith } from '../../src/core/applications/removal.ts';
import { createFollower } from '../../src/core/audit/follower.ts';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';
import { insertRow, keepRows, putBack } from '../checks/put-back.ts';
import { swappedIndex } from '../checks/swapped-index.ts';
import { TAMPER_EDITS } from '../checks/tamper-edits.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { testAlteredIndex } from '../conformance/altered-index.ts';
import {
  bytesOf,
  callOnce,
  callVault,
  doctor,
  fileVault,
  keyIdOf,
  newApplication,
  openedForKeyHolder,
  openedVault,
  RULE,
  withVault,
} from './vault-admin-fixture.ts';

// A removal finds its rows by columns that anyone with the file can edit. Such an edit must not make the vault remove a
// record, with a genuine entry.

/** What the vault then does: `sweep`, or a call about the other application. */
type Removal = 'sweep' | OperationId;

/** Parameters: the id of the victim, of its API key, of the other application, and of the other's API key. */
const PARENT = 'UPDATE application SET parent_id = $other WHERE id = $victim';

const PARENT_KEY = 'UPDATE application SET parent_id = $other, parent_key_id = $otherKey WHERE id = $victim';
const MOVED = 'UPDATE application_key SET application_id = $other, version = 9 WHERE id = $key';

const EDITS: readonly (readonly [name: string, edit: string, removal: Removal])[] = [
  ['an application given an end', 'UPDATE application SET expires_at = 1000 WHERE id = $victim', 'sweep'],
  ['an API key given an end', 'UPDATE application_key SET expires_at = 1000 WHERE id = $key', 'sweep'],
  ['an application given a creator', PARENT, 'deleteApplication'],
  ['an application given a creator', PARENT, 'regenerateApplicationKey'],
  ['an application given a creator and its key', PARENT_KEY, 'deleteApplicationKey'],
  ['an API key moved to another application', MOVED, 'deleteApplication'],
  ['an API key moved to another application', MOVED, 'regenerateApplicationKey'],
];

async function twoApplications() {
  const { file, management } = await fileVault(0);
  const vault = await openedVault(file);
  async function make(name: string) {
    const { id, key } = await newApplication(vault, management, { name, permissions: ['token:read'] });
    return { id, key, keyId: await keyIdOf(vault, management, id) };
  }
  return { file, vault, management, victim: await make('victim'), other: await make('other') };
}

const findings = async (file: string) => (await doctor(file)).findings;

it.each(EDITS)('%s: the removal leaves it (%s, %s)', async (_name, edit, removal) => {
  const { file, vault, management, victim, other } = await twoApplications();
  const read = () => callVault(vault, victim.key, 'listTokens');
  expect(await read()).toMatchObject({ status: 200 });
  const values = { victim: victim.id, key: victim.keyId, other: other.id, otherKey: other.keyId };
  const named = Object.entries(values).filter(([name]) => new RegExp(`\\$${name}\\b`).test(edit));
  const [, table = ''] = edit.split(' ');
  const id = table === 'application' ? victim.id : victim.keyId;
  const rowOf = (connection: Connection) => connection.prepare(`SELECT * FROM ${table} WHERE id = ?`).get(bytesOf(id));
  let sound: unknown;
  await tamperFile(file, (connection) => {
    sound = rowOf(connection);
    const parameters = Object.fromEntries(named.map(([name, value]) => [name, bytesOf(value)]));
    expect(connection.prepare(edit).run(parameters).changes).toBe(1);
  });
  if (removal === 'sweep') expect(await vault.sweep()).toBe(0);
  else {
    const params = removal === 'deleteApplicationKey' ? { id: other.id, key_id: other.keyId } : { id: other.id };
    expect((await callVault(vault, management, removal, { params })).status).toBeLessThan(300);
  }
  expect((await findings(file)).map((finding) => finding.id)).toContain(id);
  // With its old values, the row is sound again.
  await tamperFile(file, (connection) => {
    expect(rowOf(connection)).toBeDefined();
    connection.prepare(`DELETE FROM ${table} WHERE id = ?`).run(bytesOf(id));
    insertRow(connection, table, sound as object);
  });
  expect(await read()).toMatchObject({ status: 200 });
  expect(await findings(file)).toEqual([]);
});

describe('a key that was deleted and put back', () => {
  it.each(['deleteApplication', 'regenerateApplicationKey'] as const)(
    'is left by %s, which no process then refutes',
    async (removal) => {
      const { file, vault, management, victim } = await twoApplications();
      const kept: object[] = [];
      const select = 'SELECT * FROM application_key WHERE id = ?';
      await callVault(vault, management, 'createApplicationKey', { id: victim.id });
      await tamperFile(
        file,
        (connection) => void kept.push(connection.prepare(select).get(bytesOf(victim.keyId)) as object),
      );
      const params = { id: victim.id, key_id: victim.keyId };
      expect((await callVault(vault, management, 'deleteApplicationKey', { params })).status).toBe(204);
      await tamperFile(file, (connection) => insertRow(connection, 'application_key', kept[0] as object));
      expect((await callVault(vault, management, removal, { id: victim.id })).status).toBeLessThan(300);
      expect((await findings(file)).map(({ id }) => id)).toContain(victim.keyId);
      await withVault(file, async (other) => {
        expect((await callVault(other, management, 'getTenant')).status).toBe(200);
      });
      await tamperFile(
        file,
        (connection) => void connection.prepare('DELETE FROM application_key WHERE id = ?').run(bytesOf(victim.keyId)),
      );
      expect(await findings(file)).toEqual([]);
    },
  );
});

it('a removal takes a key that another process has just made', async () => {
  const { file, vault, management, victim } = await twoApplications();
  const holder = await openedForKeyHolder(file);
  const { store, keyring, audit, follower: own } = holder;
  const follower = createFollower({ store, keyring });
  await own.follow();
  const tenant = await store.findTenant((await store.listTenantIds())[0] ?? '');
  if (tenant === undefined) throw new Error('the vault has a tenant');
  const opened = keyring.openTenant(tenant.tenant.id, tenant.keys);
  const ended: string[][] = [];
  let calls = 0;
  const isRemoved = await removeWith(
    { keyring: opened, follower },
    (all) => {
      ended.push(all.keys.map(({ id }) => id));
      return audit.draftAuthority({
        action: 'deleteApplication',
        status: 204,
        tenant_id: tenant.tenant.id,
        entities: [victim.id],
        ended: [1],
      });
    },
    async (removal) => {
      calls += 1;
      if (calls === 1) await callVault(vault, management, 'createApplicationKey', { id: victim.id });
      return store.deleteApplication(tenant.tenant.id, victim.id, 1, removal);
    },
  );
  expect([isRemoved, calls, ended.map((ids) => ids.length)]).toEqual([true, 2, [2]]);
});

const OF_FIRST = '(SELECT application_id FROM application_key WHERE application_key = 1)';

/** Edits of the row of the second key of the private application. */
const OF_KEY = {
  'whose end was removed': 'UPDATE application_key SET expires_at = NULL WHERE version = 2',
  'that was given to the management application': `UPDATE application_key SET application_id = ${OF_FIRST} WHERE version = 2`,
  'whose hash was given to the management application': `
    CREATE TEMP TABLE kept AS SELECT hash FROM application_key WHERE version = 2;
    DELETE FROM application_key WHERE version = 2;
    UPDATE application_key SET hash = (SELECT hash FROM kept) WHERE application_key = 1`,
} as const;

it.each(Object.entries(OF_KEY))('a key %s is refused', async (_what, sql) => {
  const { file, management } = await fileVault(1);
  const key = await withVault(file, async (vault) => {
    const { body: listed } = await callVault(vault, management, 'listApplications', { query: [['type', 'private']] });
    const id: string = Object(listed).data[0].id;
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const made = await callVault(vault, management, 'createApplicationKey', { id, body: { expires_at } });
    const { key: text }: { readonly key: string } = made.body;
    expect(await callVault(vault, text, 'listTokens')).toMatchObject({ status: 200 });
    return text;
  });
  await tamperFile(file, (connection) => connection.exec(sql));
  await withVault(file, async (vault) => {
    for (const operation of ['listTokens', 'listApplications'] as const) {
      expect(await callVault(vault, key, operation)).toMatchObject({ status: 500 });
    }
  });
});

// A row that somebody hides while an application or a key is deleted could be put back afterwards. So a call does not answer
// 404 while the audit knows the record.

const REMOVE_APPLICATION = 'DELETE FROM application WHERE id = $id';

const REMOVE_KEY = 'DELETE FROM application_key WHERE id = $key';
const END_APPLICATION = 'UPDATE application SET expires_at = 1 WHERE id = $id';
const END_FROM_ALWAYS = 'UPDATE application SET expires_at = -1 WHERE id = $id';
const END_KEY = 'UPDATE application_key SET expires_at = 1 WHERE id = $key';
const MOVE_KEY = 'UPDATE application_key SET application_id = $key WHERE id = $key';

const OLDER =
  'UPDATE application SET revision = 1, details = $details, modified_at = NULL, modified_by = NULL WHERE id = $id';

const ROWS: readonly (readonly [edit: string, operation: OperationId, status: number])[] = [
  [REMOVE_APPLICATION, 'deleteApplication', 500],
  [REMOVE_APPLICATION, 'getApplication', 500],
  [REMOVE_APPLICATION, 'updateApplication', 500],
  [REMOVE_APPLICATION, 'regenerateApplicationKey', 500],
  [REMOVE_APPLICATION, 'listApplicationKeys', 500],
  [REMOVE_APPLICATION, 'createApplicationKey', 500],
  [REMOVE_APPLICATION, 'deleteApplicationKey', 500],
  [END_APPLICATION, 'deleteApplication', 500],
  [END_FROM_ALWAYS, 'deleteApplication', 500],
  [END_APPLICATION, 'getApplication', 500],
  [REMOVE_KEY, 'deleteApplicationKey', 500],
  [REMOVE_KEY, 'getApplicationKey', 500],
  [END_KEY, 'deleteApplicationKey', 500],
  [MOVE_KEY, 'deleteApplicationKey', 500],
  [OLDER, 'deleteApplication', 500],
  [OLDER, 'getApplication', 500],
  [OLDER, 'listApplications', 500],
  // Without an edit.
  ['', 'deleteApplication', 204],
  ['', 'deleteApplicationKey', 204],
  ['', 'getApplicationKey', 200],
  ['', 'listApplications', 200],
];

it.each(ROWS)('%s: %s is answered with %i', async (edit, operation, status) => {
  const { file, management } = await fileVault(0);
  const vault = await openedVault(file);
  const call = (name: OperationId, parts = {}) => callVault(vault, management, name, parts);
  const body = { name: 'a', permissions: ['token:read'] };
  const { id } = await newApplication(vault, management, body);
  const key = await keyIdOf(vault, management, id);
  let details: unknown;
  await tamperFile(file, (connection) => {
    details = connection.prepare('SELECT details FROM application WHERE id = ?').pluck().get(bytesOf(id));
  });
  await call('updateApplication', { id, body });
  await tamperFile(file, (connection) => {
    if (edit === '') return;
    const values = Object.entries({ id: bytesOf(id), key: bytesOf(key), details });
    const used = values.filter(([name]) => new RegExp(`\\$${name}\\b`).test(edit));
    expect(connection.prepare(edit).run(Object.fromEntries(used)).changes).toBe(1);
  });
  const params = /(get|delete)ApplicationKey/.test(operation) ? { id, key_id: key } : { id };
  const isUpdate = operation === 'updateApplication';
  const answer = await call(operation, {
    ...(operation !== 'listApplications' && { params }),
    ...(isUpdate && { body }),
  });
  expect(answer.status).toBe(status);
  if (status < 500) return;
  expect(answer.body).toMatchObject({ type: expect.stringMatching(/integrity_failure$/) });
});

it('an application or a key that was deleted is a 404, and so is the key of another application', async () => {
  const { file, management } = await fileVault(0);
  const vault = await openedVault(file);
  const call = async (name: OperationId, parts = {}) => (await callVault(vault, management, name, parts)).status;
  const make = () => newApplication(vault, management, { permissions: ['token:read'] });
  const [{ id }, { id: other }] = [await make(), await make()];
  const key_id = await keyIdOf(vault, management, id);
  expect(await call('getApplicationKey', { params: { id: other, key_id } })).toBe(404);
  expect(await call('deleteApplicationKey', { params: { id, key_id } })).toBe(204);
  expect(await call('deleteApplicationKey', { params: { id, key_id } })).toBe(404);
  expect(await call('deleteApplication', { id })).toBe(204);
  expect(await call('deleteApplication', { id })).toBe(404);
  expect(await call('getApplicationKey', { params: { id, key_id } })).toBe(404);
});

const MOVED_ENTRY = TAMPER_EDITS['an index entry moved to another token']?.[0] ?? '';
const CREATE = ['createToken', { body: { type: 'token', data: 1, deduplicate_token: true } }] as const;
const PATCH = ['updateToken', { id: 'token-0', body: { data: 1, deduplicate_token: true } }] as const;
const DAMAGED = { status: 500, body: { type: 'urn:token-vault:problem:integrity_failure' } };

describe('an index entry of a fingerprint', () => {
  it.each([
    ['in its place', '', CREATE, { body: { id: 'token-1' } }],
    ['in its place', '', PATCH, { body: { id: 'token-0' } }],
    ['moved to another token', MOVED_ENTRY, CREATE, DAMAGED],
    ['moved to another token', MOVED_ENTRY, PATCH, DAMAGED],
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

const REFUSED = { status: 500, body: { type: expect.stringMatching(/integrity_failure$/) } };

it('an expiring application is rejected when the row of its creator was put back', async () => {
  const { file, management } = await fileVault(0);
  const call = (apiKey: string, operation: OperationId, parts: { id?: string; body?: object } = {}) =>
    callOnce({ file }, apiKey, operation, parts);
  const parent = {
    name: 'parent',
    type: 'private',
    permissions: ['token:read'],
    can_create_expiring_applications: true,
  };
  const made: { readonly id: string; readonly key: string } = (
    await call(management, 'createApplication', { body: parent })
  ).body;
  const condition = { attribute: 'container', operator: 'starts_with', value: '/' };
  const rule = {
    description: '',
    priority: 1,
    conditions: [condition],
    transform: 'redact',
    permissions: ['token:read'],
  };
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const child = { name: 'child', type: 'expiring', expires_at, rules: [rule] };
  const key: string = (await call(made.key, 'createApplication', { body: child })).body['key'];
  const kept = await keepRows(file);
  const { type: _, ...narrower } = { ...parent, permissions: ['token:read', 'token:delete'] };
  expect(await call(management, 'updateApplication', { id: made.id, body: narrower })).toMatchObject({ status: 200 });
  expect(await call(key, 'listTokens')).toMatchObject({ status: 200 });
  await putBack(file, kept, ['application']);
  expect(await call(key, 'listTokens')).toMatchObject(REFUSED);
});

it.each([
  ['application', 'updateApplication', { name: 'a', permissions: ['token:delete'] }],
  ['tenant', 'updateTenant', { name: 'renamed' }],
] as const)('a running vault refuses a %s that was put back', async (table, operation, body) => {
  const { file, management } = await fileVault(0);
  await withVault(file, async (vault) => {
    const first = { name: 'a', type: 'private', permissions: ['token:read'] };
    const made = await callVault(vault, management, 'createApplication', { body: first });
    const { id, key }: { readonly id: string; readonly key: string } = made.body;
    const kept = await keepRows(file);
    const named = operation === 'updateTenant' ? {} : { id };
    expect(await callVault(vault, management, operation, { ...named, body })).toMatchObject({ status: 200 });
    await putBack(file, kept, [table]);
    // The vault has not seen this key before.
    expect(await callVault(vault, key, 'listTokens')).toMatchObject(REFUSED);
  });
});
