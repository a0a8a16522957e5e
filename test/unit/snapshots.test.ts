import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { vaultSnapshots } from '../../src/vault/snapshots.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { hurriedTime } from '../fakeable-timers.ts';
import {
  CREDENTIAL,
  callOnce,
  callVault,
  doctor,
  type FileVault,
  fileVault,
  withAdmin,
  withVault,
} from './vault-admin-fixture.ts';

const OTHER = { kind: 'key_file', key: new Uint8Array(32).fill(8) } as const;

const snapshots = (file: string, credential = CREDENTIAL) => vaultSnapshots(file, async () => credential);
const save = (file: string, name = 'base', replace = false) => snapshots(file).save(name, { replace });
const load = (file: string, name = 'base') => snapshots(file).load(name);
const snapshotOf = (file: string, name = 'base') => join(`${file}.snapshots`, `${name}.db`);

async function expectSound(file: string): Promise<void> {
  expect(await doctor(file)).toMatchObject({ ok: true, findings: [] });
}

async function tokensOf({ file, apiKey }: FileVault): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await callOnce({ file }, apiKey, 'listTokens');
  const items: readonly { readonly id: string; readonly data: unknown }[] = body['data'];
  return Object.fromEntries(items.map(({ id, data }) => [id, data]));
}

const create = (file: string, apiKey: string, id: string) =>
  callOnce({ file }, apiKey, 'createToken', { body: { id, type: 'token', data: id } });

async function auditOf(file: string): Promise<readonly string[]> {
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  const actions: string[] = [];
  for await (const { event } of admin.events()) actions.push(event.action);
  await admin.close();
  return actions;
}

it('a load restores the whole file, with its applications, tenants and audit', async () => {
  const made = await fileVault(3);
  const { file, apiKey, management } = made;
  const audit = await auditOf(file);
  const before = await tokensOf(made);
  expect(await save(file)).toMatchObject({ name: 'base', tokens: 3, bytes: statSync(snapshotOf(file)).size });
  const [key, later] = await withVault(file, async (vault: Vault) => {
    const application = { body: { name: 'later', type: 'private', permissions: ['token:read'] } };
    const created = await callVault(vault, management, 'createApplication', application);
    await callVault(vault, apiKey, 'updateToken', { id: 'token-0', body: { data: 'changed' } });
    await callVault(vault, apiKey, 'deleteToken', { id: 'token-1' });
    return [created.body['key'], await vault.createTenant('later')];
  });
  expect(await load(file)).toMatchObject({ name: 'base', tokens: 3 });
  expect(await tokensOf(made)).toEqual(before);
  for (const gone of [key, later?.application.key]) {
    expect((await callOnce({ file }, gone ?? '', 'listTokens')).status).toBe(401);
  }
  expect((await auditOf(file)).slice(0, audit.length + 1)).toEqual([...audit, 'listTokens']);
  await expectSound(file);
});

it('a snapshot loads again after a rotation and another load', async () => {
  const made = await fileVault(2);
  const { file } = made;
  await save(file);
  await withAdmin(file, (admin) => admin.rotate({ indexes: true, master: true }));
  await create(file, made.apiKey, 'later');
  await save(file, 'later');
  for (const [name, tokens] of Object.entries({ base: 2, later: 3 })) {
    expect(await load(file, name)).toMatchObject({ tokens });
    expect(Object.keys(await tokensOf(made))).toHaveLength(tokens);
    await expectSound(file);
  }
});

it.each([
  ['save', save],
  ['load', load],
] as const)('a %s is refused while a process has the file open', async (_what, act) => {
  const { file, apiKey } = await fileVault(1);
  await save(file, 'base');
  await create(file, apiKey, 'later');
  hurriedTime();
  const refused = withVault(file, () => act(file, 'base', true));
  await expect(refused).rejects.toMatchObject({ code: 'locked_by_other' });
  expect((await snapshots(file).list()).map(({ tokens }) => tokens)).toEqual([1]);
  await expectSound(file);
});

it('a save replaces a snapshot only on request, and leaves no other file', async () => {
  const { file, apiKey } = await fileVault(1);
  await save(file);
  const first = readFileSync(snapshotOf(file));
  await expect(save(file)).rejects.toMatchObject({ code: 'file_exists' });
  expect(readFileSync(snapshotOf(file)).equals(first)).toBe(true);
  await create(file, apiKey, 'later');
  expect(await save(file, 'base', true)).toMatchObject({ tokens: 2 });
  await load(file);
  expect(readdirSync(`${file}.snapshots`)).toEqual(['base.db']);
  if (process.platform !== 'win32') {
    expect(statSync(snapshotOf(file)).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}.snapshots`).mode & 0o777).toBe(0o700);
  }
  await snapshots(file).delete('base');
  expect(await snapshots(file).list()).toEqual([]);
});

it('a save and a load remove what killed ones left', async () => {
  const { file } = await fileVault(0);
  mkdirSync(`${file}.snapshots`, { mode: 0o700 });
  const draft = 'copy.0123456789abcdef.new';
  const left = [join(`${file}.snapshots`, `.other.db.${draft}`), join(file, '..', `.vault.db.${draft}`)];
  for (const path of left) writeFileSync(path, '');
  await save(file);
  await load(file);
  expect(left.map((path) => existsSync(path))).toEqual([false, false]);
});

it('a load rejects a snapshot of another vault and one of another key, and changes nothing', async () => {
  const [made, other] = [await fileVault(1), await fileVault(1)];
  await save(made.file);
  await save(other.file);
  copyFileSync(snapshotOf(other.file), snapshotOf(made.file, 'foreign'));
  const before = readFileSync(made.file);
  const refusals = [load(made.file, 'foreign'), snapshots(made.file, OTHER).load('base')];
  for (const refused of refusals) await expect(refused).rejects.toMatchObject({ code: 'conflict' });
  expect(readFileSync(made.file).equals(before)).toBe(true);
});

it.each([
  ['cut in its first page', (bytes: Buffer) => bytes.subarray(0, 1000)],
  ['cut later', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ['no database', (bytes: Buffer) => bytes.fill('x')],
  ['without the application_id', (bytes: Buffer) => bytes.fill(0, 68, 72)],
])('a snapshot that is %s is rejected, and changes nothing', async (_what, damage) => {
  const made = await fileVault(2);
  await save(made.file);
  writeFileSync(snapshotOf(made.file), damage(readFileSync(snapshotOf(made.file))));
  await expect(load(made.file)).rejects.toMatchObject({
    code: 'damaged',
    message: `${snapshotOf(made.file)} is damaged`,
  });
  expect(await tokensOf(made)).toEqual({ 'token-0': 0, 'token-1': 1 });
  expect(await snapshots(made.file).list()).toMatchObject([{ name: 'base' }]);
});

it.each(['', '../x', 'A', 'nul', 'a'.repeat(65), '.x', 'a b'])('a snapshot cannot be named %j', async (name) => {
  const { file } = await fileVault(0);
  await expect(save(file, name)).rejects.toMatchObject({ code: 'usage' });
});

it('a snapshot folder that others may write to is rejected', async () => {
  if (process.platform === 'win32') return;
  const { file } = await fileVault(1);
  mkdirSync(`${file}.snapshots`, { mode: 0o777 });
  chmodSync(`${file}.snapshots`, 0o777);
  await expect(save(file)).rejects.toMatchObject({ code: 'file_unsafe' });
});
