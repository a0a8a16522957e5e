import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkVaultFile, openVaultAdmin } from '../../src/vault/admin.ts';
import { openVaultSnapshots, type VaultSnapshots } from '../../src/vault/snapshots.ts';
import { openVault, type Vault } from '../../src/vault/vault.ts';
import { keepRows, putBack } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, callVault, type FileVault, fileVault, withVault } from './vault-admin-fixture.ts';

async function withSnapshots<T>(file: string, use: (snapshots: VaultSnapshots) => Promise<T>): Promise<T> {
  const snapshots = await openVaultSnapshots({ file, credential: CREDENTIAL });
  try {
    return await use(snapshots);
  } finally {
    await snapshots.close();
  }
}

const save = (file: string, name = 'base', replace = false) =>
  withSnapshots(file, (snapshots) => snapshots.save(name, { replace }));
const load = (file: string, name = 'base') => withSnapshots(file, (snapshots) => snapshots.load(name));
const snapshotOf = (file: string, name = 'base') => join(`${file}.snapshots`, `${name}.db`);

async function expectSound(file: string): Promise<void> {
  expect(await checkVaultFile({ file, credential: CREDENTIAL })).toMatchObject({ ok: true, findings: [] });
}

async function tokensOf(vault: Vault, { apiKey }: FileVault): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await callVault(vault, apiKey, 'listTokens', { query: [['size', '100']] });
  const items: readonly { readonly id: string; readonly data: unknown }[] = body['data'];
  return Object.fromEntries(items.map(({ id, data }) => [id, data]));
}

const usage = async (vault: Vault, apiKey: string) => (await callVault(vault, apiKey, 'getUsageReport')).body;

it('a load restores records, applications and counters of a served file, but not the audit', async () => {
  const made = await fileVault(5);
  const { file, apiKey, management } = made;
  await withVault(file, async (vault) => {
    await callVault(vault, apiKey, 'deleteToken', { id: 'token-4' });
    const before = await tokensOf(vault, made);
    const counted = await usage(vault, management);
    const tenant = await callVault(vault, management, 'getTenant');
    expect(await save(file)).toMatchObject({ name: 'base', tokens: 4 });

    const application = { body: { name: 'later', type: 'private', permissions: ['token:read'] } };
    const later: string = (await callVault(vault, management, 'createApplication', application)).body['key'];
    await callVault(vault, management, 'updateTenant', { body: { name: 'renamed' } });
    await callVault(vault, apiKey, 'updateToken', { id: 'token-0', body: { data: 'changed' } });
    await callVault(vault, apiKey, 'deleteToken', { id: 'token-1' });
    await callVault(vault, apiKey, 'createToken', { body: { id: 'token-new', type: 'token', data: 1 } });

    expect(await load(file)).toMatchObject({ name: 'base', tokens: 4 });
    expect(await tokensOf(vault, made)).toEqual(before);
    expect(await usage(vault, management)).toEqual(counted);
    expect(await callVault(vault, management, 'getTenant')).toEqual(tenant);
    expect((await callVault(vault, later, 'listTokens')).status).toBe(401);
    const found = await callVault(vault, apiKey, 'listTokens', { query: [['metadata.tag', 'tag 1']] });
    expect(found.body['data']).toMatchObject([{ id: 'token-1' }]);
    expect(
      (await callVault(vault, apiKey, 'createToken', { body: { id: 'token-4', type: 'token', data: 1 } })).status,
    ).toBe(409);
  });
  await expectSound(file);
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  const [event] = await admin.lastEvents(({ event: { action } }) => action === 'loadSnapshot', 1);
  expect(event?.event).toMatchObject({ action: 'loadSnapshot', entities: ['base', expect.any(String)] });
  const deleted = await admin.lastEvents(({ event: { entities } }) => entities.includes('token-1'), 10);
  expect(deleted.map(({ event: { action } }) => action)).toContain('deleteToken');
  await admin.close();
});

it('doctor follows repeated loads, and still finds an older row that was put back', async () => {
  const made = await fileVault(3);
  const { file, apiKey } = made;
  const change = (data: unknown) =>
    withVault(file, (vault) => callVault(vault, apiKey, 'updateToken', { id: 'token-0', body: { data } }));
  await save(file, 'one');
  await change('two');
  await withSnapshots(file, (snapshots) => snapshots.reset(undefined));
  await save(file, 'empty');
  await load(file, 'one');
  await change('three');
  await save(file, 'three');
  await load(file, 'empty');
  await expectSound(file);
  await load(file, 'three');
  await expectSound(file);
  expect(await withVault(file, (vault) => tokensOf(vault, made))).toEqual({
    'token-0': 'three',
    'token-1': 1,
    'token-2': 2,
  });

  await change('four');
  await tamperFile(file, (connection) => connection.exec("UPDATE token SET revision = 1 WHERE id = 'token-0'"));
  const { ok, findings } = await checkVaultFile({ file, credential: CREDENTIAL });
  expect(ok).toBe(false);
  expect(findings).toContainEqual(expect.objectContaining({ table: 'token', id: 'token-0' }));
});

it('a reset removes all tokens of a tenant from the file and frees their ids', async () => {
  const made = await fileVault(4);
  const { file, apiKey, management, tenantId } = made;
  await withVault(file, async (vault) => {
    await callVault(vault, apiKey, 'deleteToken', { id: 'token-3' });
    const other = await vault.createTenant('other');
    expect(await withSnapshots(file, (snapshots) => snapshots.reset(other.tenant.id))).toBe(0);
    expect(await withSnapshots(file, (snapshots) => snapshots.reset(tenantId))).toBe(3);
    expect(await tokensOf(vault, made)).toEqual({});
    expect(await usage(vault, management)).toMatchObject({ token_report: { metrics_by_type: {} } });
    const again = { body: { id: 'token-3', type: 'token', data: 3 } };
    expect((await callVault(vault, apiKey, 'createToken', again)).status).toBe(201);
  });
  await expectSound(file);
  const gone = withSnapshots(file, (snapshots) => snapshots.reset('00000000-0000-4000-8000-000000000000'));
  await expect(gone).rejects.toMatchObject({ code: 'not_found' });
});

it('a save replaces a snapshot only on request, and leaves no other file', async () => {
  const { file, apiKey } = await fileVault(1);
  await save(file);
  const first = readFileSync(snapshotOf(file));
  await expect(save(file)).rejects.toMatchObject({ code: 'file_exists' });
  expect(readFileSync(snapshotOf(file)).equals(first)).toBe(true);
  await withVault(file, (vault) =>
    callVault(vault, apiKey, 'createToken', { body: { id: 'token-9', type: 'token', data: 9 } }),
  );
  expect(await save(file, 'base', true)).toMatchObject({ tokens: 2 });
  expect(readdirSync(`${file}.snapshots`)).toEqual(['base.db']);
  if (process.platform !== 'win32') {
    expect(statSync(snapshotOf(file)).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}.snapshots`).mode & 0o777).toBe(0o700);
  }
  await withSnapshots(file, (snapshots) => snapshots.delete('base'));
  expect(await withSnapshots(file, (snapshots) => snapshots.list())).toEqual([]);
});

it('a save removes what a killed save left, but nothing recent', async () => {
  const { file } = await fileVault(0);
  mkdirSync(`${file}.snapshots`, { mode: 0o700 });
  const [old, young] = ['.base.db.00.new', '.base.db.11.new'].map((name) => join(`${file}.snapshots`, name));
  if (old === undefined || young === undefined) throw new Error('unreachable: there are two');
  for (const path of [old, young]) writeFileSync(path, '');
  utimesSync(old, 1, 1);
  await save(file);
  expect([old, young].map((path) => existsSync(path))).toEqual([false, true]);
  expect((await withSnapshots(file, (snapshots) => snapshots.list())).map(({ name }) => name)).toEqual(['base']);
});

it('a snapshot holds no key, and is rejected once its keys are destroyed', async () => {
  const { file } = await fileVault(2);
  await save(file);
  await tamperFile(snapshotOf(file), (connection) => {
    const tables = connection.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all();
    expect(tables).toContain('token');
    for (const absent of ['header', 'slot', 'tenant_key', 'audit']) expect(tables).not.toContain(absent);
  });
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  await admin.rotate({ indexes: true, master: true });
  await admin.close();
  const refused = { code: 'conflict', message: expect.stringContaining('keys rotate') };
  await expect(load(file)).rejects.toMatchObject(refused);
  const [listed] = await withSnapshots(file, (snapshots) => snapshots.list());
  expect(listed).toMatchObject({ name: 'base', tokens: 2, refused: expect.stringContaining('keys rotate') });
  await expectSound(file);
});

it('a snapshot is rejected when one of its tenants was deleted, and leaves newer tenants alone', async () => {
  const made = await fileVault(2);
  const { file } = made;
  const other = await withVault(file, async (vault) => {
    await save(file, 'one');
    const created = await vault.createTenant('other');
    await load(file, 'one');
    expect((await callVault(vault, created.application.key ?? '', 'getTenant')).status).toBe(200);
    await save(file, 'two');
    expect((await callVault(vault, created.application.key ?? '', 'deleteTenant')).status).toBe(204);
    return created;
  });
  expect(other.tenant.name).toBe('other');
  await expect(load(file, 'two')).rejects.toMatchObject({ message: expect.stringContaining('has since been deleted') });
  await load(file, 'one');
  await expectSound(file);
});

it.each([
  ['an altered fact', (path: string) => tamperFile(path, (c) => c.exec('UPDATE facts SET sequence = sequence - 1'))],
  ['another name', (path: string) => tamperFile(path, (c) => c.exec("UPDATE facts SET name = 'other'"))],
  ['a trigger in it', (path: string) => tamperFile(path, (c) => c.exec('CREATE VIEW token2 AS SELECT 1'))],
  ['another application_id', async (path: string) => tamperFile(path, (c) => c.pragma('application_id = 1'))],
])('a snapshot with %s is rejected and changes nothing', async (_what, alter) => {
  const made = await fileVault(2);
  await save(made.file);
  await alter(snapshotOf(made.file));
  await expect(load(made.file)).rejects.toMatchObject({ code: 'damaged' });
  expect(await withVault(made.file, (vault) => tokensOf(vault, made))).toEqual({ 'token-0': 0, 'token-1': 1 });
  expect(await withSnapshots(made.file, (snapshots) => snapshots.list())).toMatchObject([
    { name: 'base', refused: expect.any(String) },
  ]);
});

it('a snapshot is rejected by another vault and by a diverged copy', async () => {
  const [one, two] = [await fileVault(1), await fileVault(1)];
  await save(one.file);
  mkdirSync(`${two.file}.snapshots`, { mode: 0o700 });
  copyFileSync(snapshotOf(one.file), snapshotOf(two.file));
  await expect(load(two.file)).rejects.toMatchObject({ code: 'damaged' });

  const copy = join(one.folder, 'copy.db');
  copyFileSync(one.file, copy);
  const create = (file: string) =>
    withVault(file, (vault) => callVault(vault, one.apiKey, 'createToken', { body: { type: 'token', data: 1 } }));
  await create(one.file);
  await save(one.file, 'later');
  await create(copy);
  mkdirSync(`${copy}.snapshots`, { mode: 0o700 });
  copyFileSync(snapshotOf(one.file, 'later'), snapshotOf(copy, 'later'));
  await expect(load(copy, 'later')).rejects.toMatchObject({ code: 'conflict' });
});

it.each(['', '../x', 'A', 'nul', 'a'.repeat(65), '.x', 'a b'])('a snapshot cannot be named %j', async (name) => {
  const { file } = await fileVault(0);
  await expect(save(file, name)).rejects.toMatchObject({ code: 'usage' });
});

it('a snapshot loads beside a newer tenant whose rows reuse its row numbers', async () => {
  const made = await fileVault(2);
  const { file, apiKey } = made;
  await save(file);
  await withVault(file, async (vault) => {
    for (const id of ['token-0', 'token-1']) await callVault(vault, apiKey, 'deleteToken', { id });
    const other = await vault.createTenant('other');
    const rules = [
      { description: '', priority: 1, container: '/', transform: 'reveal', permissions: ['token:create'] },
    ];
    const body = { name: 'b', type: 'private', rules };
    const created = await callVault(vault, other.application.key ?? '', 'createApplication', { body });
    for (let n = 0; n < 3; n += 1) {
      const answer = await callVault(vault, created.body['key'], 'createToken', { body: { type: 'token', data: n } });
      expect(answer.status).toBe(201);
    }
  });
  await load(file);
  await withVault(file, async (vault) => {
    expect(await tokensOf(vault, made)).toEqual({ 'token-0': 0, 'token-1': 1 });
    const { body } = await callVault(vault, apiKey, 'listTokens', { query: [['metadata.tag', 'tag 1']] });
    expect((body['data'] as { id: string }[]).map(({ id }) => id)).toEqual(['token-1']);
  });
  await expectSound(file);
});

it('a snapshot folder that others may write to is rejected', async () => {
  if (process.platform === 'win32') return;
  const { file } = await fileVault(1);
  mkdirSync(`${file}.snapshots`, { mode: 0o777 });
  chmodSync(`${file}.snapshots`, 0o777);
  await expect(save(file)).rejects.toMatchObject({ code: 'file_unsafe' });
});

it('a reset does not hide an older token that was put back', async () => {
  const { file, apiKey } = await fileVault(0);
  const wall = () => Date.now() - 3_600_000;
  const times = { wall, running: () => performance.now() };
  const create = (vault: Vault, data: string) =>
    callVault(vault, apiKey, 'createToken', { body: { id: 'the-token', type: 'token', data } });
  const earlier = await openVault({ file, credential: CREDENTIAL, times });
  await create(earlier, 'old');
  await earlier.close();
  const before = await keepRows(file);
  await withSnapshots(file, (snapshots) => snapshots.reset(undefined));
  await withVault(file, (vault) => create(vault, 'new'));
  await expectSound(file);
  await putBack(file, before, ['token', 'token_index']);
  expect((await checkVaultFile({ file, credential: CREDENTIAL })).findings).toEqual([
    { table: 'token', id: 'the-token', what: expect.stringContaining('older than the last reset of all tokens') },
  ]);
});
