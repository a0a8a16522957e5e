import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { MoveLocation } from '../../src/core/move-ports.ts';
import { HEAD_ROW } from '../../src/store/postgres/audit-head.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openVaultAt, parseStore, type VaultLocation } from '../../src/vault/location.ts';
import { abortMove, moveBetween, movedLocation, moveVault } from '../../src/vault/move.ts';
import { TAMPER_EDITS } from '../checks/tamper-edits.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, callVault, type FileVault, fileVault } from '../unit/vault-admin-fixture.ts';
import { createDatabase } from './create-database.ts';
import { openTestClient } from './write-queue-fixture.ts';

const MOVE = { readCredential: async () => CREDENTIAL, keepSource: false, full: true };

let schemas = 0;
let database: Promise<string> | undefined;
async function newStore() {
  database ??= createDatabase();
  return { store: parseStore(`${await database}?sslmode=disable&schema=move_${schemas++}`, true) };
}

/** Creates a file with records of every kind: changed, deleted and expired tokens, containers, replies, denials. */
async function everyKind(): Promise<FileVault> {
  const made = await fileVault(30);
  const vault = await openVaultAt({ file: made.file }, { credential: CREDENTIAL });
  const call = (operation: Parameters<typeof callVault>[2], parts: Parameters<typeof callVault>[3] = {}) =>
    callVault(vault, made.apiKey, operation, parts);
  for (const container of ['/a/b/', '/a/c/', '/a/b/d/']) {
    const body = { id: `in${container.replaceAll('/', '-')}`, type: 'token', data: 1, containers: [container] };
    expect(await call('createToken', { body, idempotencyKey: `key ${container}` })).toMatchObject({ status: 201 });
  }
  await call('updateToken', { id: 'token-1', body: { data: 'changed' } });
  await call('deleteToken', { id: 'token-2' });
  await call('getToken', { id: 'token-3' });
  await call('getToken', { id: 'none' });
  await vault.sweep();
  await vault.close();
  return made;
}

async function data(location: VaultLocation, apiKey: string, id: string): Promise<unknown> {
  const vault = await openVaultAt(location, { credential: CREDENTIAL });
  try {
    const { status, body } = await callVault(vault, apiKey, 'getToken', { id });
    return status === 200 ? body['data'] : status;
  } finally {
    await vault.close();
  }
}

async function setsOf({ store }: Awaited<ReturnType<typeof newStore>>): Promise<unknown> {
  const { run } = await openTestClient(store.url);
  return run({
    text: `SELECT number, name, index_key_id, (SELECT count(*) FROM vault.token t WHERE t.set_number = s.number) FROM vault.container_set s
      ORDER BY number`,
  });
}

const check = (location: VaultLocation) => checkVaultFile({ ...location, credential: CREDENTIAL });

it('moves a file to a database and back', async () => {
  const { folder, file, apiKey } = await everyKind();
  const store = await newStore();
  const tokens = 32;
  const events = await actionsOf({ file });
  const moved = await moveVault({ from: { file }, to: store }, MOVE);
  expect(moved).toMatchObject({ tenants: 1, applications: 2, tokens });
  expect(readdirSync(folder)).toEqual(['vault.db.moved']);
  expect(await check(store)).toMatchObject({ ok: true, findings: [], checked: { tokens } });
  expect(await data(store, apiKey, 'token-1')).toBe('changed');
  expect(await data(store, apiKey, 'token-2')).toBe(404);

  const sets = await setsOf(store);
  expect(sets).toMatchObject([...[29, 1, 1, 1].map((tokens, at) => [at + 1, expect.anything(), 2, tokens])]);

  const back = join(folder, 'back.db');
  await moveVault({ from: store, to: { file: back } }, MOVE);
  expect(await check({ file: back })).toMatchObject({ ok: true, findings: [], checked: { tokens } });
  expect(await data({ file: back }, apiKey, 'token-1')).toBe('changed');
  expect(existsSync(`${back}.moving`)).toBe(false);
  // The audit keeps its rows and their links.
  const actions = await actionsOf({ file: back });
  expect(actions.slice(0, events.length)).toEqual(events);
  expect(actions.filter((action) => action === 'moveVault')).toHaveLength(2);
  const again = await newStore();
  await moveVault({ from: { file: back }, to: again }, { ...MOVE, keepSource: true });
  expect(await setsOf(again)).toEqual(sets);
  await expect(openVaultAt(store, { credential: CREDENTIAL })).rejects.toMatchObject({ code: 'store_missing' });
});

it('answers retries after a move, a rotation of the keys and the way back', async () => {
  const { folder, file, apiKey, management, tenantId } = await everyKind();
  const store = await newStore();
  const body = { name: 'b', type: 'private', permissions: ['token:read'] };
  const answers = async (location: VaultLocation) => {
    const vault = await openVaultAt(location, { credential: CREDENTIAL });
    try {
      const id = 'in-a-b-';
      return [
        await callVault(vault, apiKey, 'createToken', {
          body: { id, type: 'token', data: 1, containers: ['/a/b/'] },
          idempotencyKey: 'key /a/b/',
        }),
        await callVault(vault, management, 'createApplication', { body, idempotencyKey: 'application' }),
      ];
    } finally {
      await vault.close();
    }
  };
  const [token, application] = await answers({ file });
  const expected = [token, { ...application, replayed: true }];
  expect(token).toMatchObject({ status: 201, replayed: true });
  await moveVault({ from: { file }, to: store }, MOVE);
  expect(await answers(store)).toEqual(expected);
  const admin = await openVaultAdmin({ ...store, credential: CREDENTIAL });
  const [rotated] = (await admin.rotate({ tenantId, indexes: false, master: true })).tenants;
  await admin.close();
  // The tenant, three applications with an API key each, 32 tokens and four replies.
  expect(rotated?.resealed).toBe(1 + 2 * 3 + 32 + 4);
  expect(await answers(store)).toEqual(expected);
  expect(await check(store)).toMatchObject({ ok: true, findings: [] });
  const back = { file: join(folder, 'back.db') };
  await moveVault({ from: store, to: back }, MOVE);
  expect(await answers(back)).toEqual(expected);
});

it('reports how many tokens it has copied, and how many rows of each table it has compared', async () => {
  const { file } = await fileVault(600);
  const [copied, compared]: [string[], string[]] = [[], []];
  const note = (list: string[]) => (done: number, total: number) => void list.push(`${done} of ${total}`);
  const progress = { copying: note(copied), comparing: note(compared) };
  await moveVault({ from: { file }, to: await newStore() }, { ...MOVE, full: false, ...progress });
  expect(copied).toEqual(['500 of 600', '600 of 600']);
  expect(compared).toEqual(expect.arrayContaining(['1 of 1', '2 of 2', '500 of 600', '600 of 600']));
});

const actionsOf = async (location: VaultLocation) => {
  const admin = await openVaultAdmin({ ...location, credential: CREDENTIAL });
  try {
    const actions: string[] = [];
    for await (const { event } of admin.events()) actions.push(event.action);
    return actions;
  } finally {
    await admin.close();
  }
};

it('refuses an audit that lacks a row', async () => {
  const { folder, file, apiKey } = await everyKind();
  const store = await newStore();
  await moveVault({ from: { file }, to: store }, MOVE);
  const reveals = async () => (await actionsOf(store)).filter((action) => action === 'getToken').length;
  expect(await reveals()).toBeGreaterThan(0);
  expect(await data(store, apiKey, 'token-3')).toBeDefined();
  // The entries of reads change no record, so nothing else shows that one is missing.
  const { run } = await openTestClient(store.store.url);
  const [[last] = []] = await run({ text: 'SELECT max(sequence) FROM vault.audit' });
  expect(await data(store, apiKey, 'token-4')).toBeDefined();
  await run({ text: `DELETE FROM vault.audit WHERE sequence = ${last}` });
  await run({ text: `DELETE FROM vault.audit_index WHERE sequence = ${last}` });
  const copy = join(folder, 'copy.db');
  await expect(moveVault({ from: store, to: { file: copy } }, MOVE)).rejects.toMatchObject({ code: 'damaged' });
  expect(readdirSync(folder)).toEqual(['vault.db.moved']);
  expect(await serves(store)).toBe(true);
});

it('leaves out the tokens of a deleted tenant that no sweep has removed yet', async () => {
  const { folder, file } = await fileVault(2);
  const [first, second] = [await newStore(), await newStore()];
  await moveVault({ from: { file }, to: first }, MOVE);
  const vault = await openVaultAt(first, { credential: CREDENTIAL });
  const { application } = await vault.createTenant('second');
  const rule = {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:create', 'token:delete'],
  };
  const body = { name: 'a', type: 'private', rules: [rule] };
  const made = await callVault(vault, application.key ?? '', 'createApplication', { body });
  for (const id of ['live', 'deleted']) {
    await callVault(vault, made.body['key'], 'createToken', { body: { id, type: 'token', data: id } });
  }
  expect(await callVault(vault, made.body['key'], 'deleteToken', { id: 'deleted' })).toMatchObject({ status: 204 });
  expect(await callVault(vault, application.key ?? '', 'deleteTenant')).toMatchObject({ status: 204 });
  await vault.close();
  const { run } = await openTestClient(first.store.url);
  const left = 'SELECT count(*) FROM vault.token WHERE tenant IN (SELECT tenant FROM vault.purge)';
  expect(await run({ text: left })).toEqual([[2]]);
  const back = { file: join(folder, 'back.db') };
  for (const [from, to] of [
    [first, second],
    [second, back],
  ] as const) {
    await moveVault({ from, to }, { ...MOVE, keepSource: from === first });
    expect(await check(to)).toMatchObject({ ok: true, findings: [], checked: { tenants: 1, tokens: 2 } });
  }
  await moveVault({ from: first, to: { file: join(folder, 'other.db') } }, MOVE);
});

it('refuses a target that is not empty, and a source that was moved', async () => {
  const { folder, file } = await fileVault(2);
  const other = await fileVault(1);
  const store = await newStore();
  const conflict = { code: 'conflict' };
  await expect(moveVault({ from: { file }, to: { file: other.file } }, MOVE)).rejects.toMatchObject(conflict);
  await moveVault({ from: { file: other.file }, to: store }, MOVE);
  await expect(moveVault({ from: { file }, to: store }, MOVE)).rejects.toMatchObject(conflict);
  await expect(moveVault({ from: { file }, to: { file } }, MOVE)).rejects.toMatchObject(conflict);
  await expect(moveVault({ from: { file: other.file }, to: await newStore() }, MOVE)).rejects.toMatchObject({
    code: 'store_missing',
  });
  await expect(abortMove({ from: { file: other.file }, to: store })).rejects.toMatchObject({ code: 'store_missing' });
  expect(await check(store)).toMatchObject({ ok: true, checked: { tenants: 1 } });
  // The source of an earlier move is not empty either.
  await moveVault({ from: store, to: { file: other.file } }, MOVE);
  await expect(moveVault({ from: { file }, to: store }, MOVE)).rejects.toMatchObject(conflict);
  await expect(moveVault({ from: { file: join(folder, 'none') }, to: store }, MOVE)).rejects.toMatchObject({
    code: 'file_missing',
  });
  const readCredential = async () => ({ kind: 'key_file', key: new Uint8Array(32) }) as const;
  const wrong = { ...MOVE, readCredential };
  await expect(moveVault({ from: { file }, to: await newStore() }, wrong)).rejects.toMatchObject({
    code: 'wrong_credential',
  });
  expect(readdirSync(folder)).toEqual(['vault.db']);
});

/** The names of a source and a target in one folder, of which a move would use a file as both. */
const SHARED = [
  ['v.moving', 'v'],
  ['v', 'v.moved'],
  ['v.moving', join('link', 'v')],
  ['v.moving', join('other', 'v')],
] as const;

it.each(SHARED)('refuses to move %s to %s, and keeps the source', async (from, to) => {
  const { folder, file } = await fileVault(1);
  const locations = { from: { file: join(folder, from) }, to: { file: join(folder, to) } };
  renameSync(file, locations.from.file);
  symlinkSync('.', join(folder, 'link'));
  mkdirSync(join(folder, 'other'));
  linkSync(locations.from.file, join(folder, 'other', from));
  const conflict = { code: 'conflict', message: expect.stringContaining('would replace') };
  await expect(moveVault(locations, MOVE)).rejects.toMatchObject(conflict);
  await expect(abortMove(locations)).rejects.toMatchObject(conflict);
  expect(readdirSync(folder).toSorted()).toEqual(['link', 'other', from]);
  // A vault with two names does not open.
  rmSync(join(folder, 'other', from));
  expect(await check(locations.from)).toMatchObject({ ok: true, checked: { tokens: 1 } });
});

it('refuses blind indexes that do not follow from the sealed values, if it opens all records', async () => {
  const { file } = await fileVault(3);
  const [edit = ''] = TAMPER_EDITS['the list of blind indexes of another row'] ?? [];
  await tamperFile(file, (connection) => void connection.exec(edit));
  const message = expect.stringMatching(/token token-1 has blind indexes that do not match its contents/);
  await expect(moveVault({ from: { file }, to: await newStore() }, MOVE)).rejects.toMatchObject({
    code: 'damaged',
    message,
  });
  const moved = await newStore();
  await moveVault({ from: { file }, to: moved }, { ...MOVE, full: false });
  expect(await check(moved)).toMatchObject({ ok: false, findings: [{ table: 'token', id: 'token-1' }] });
});

it('finds damage before the source is left', async () => {
  const { folder, file } = await fileVault(2);
  const store = await newStore();
  await moveVault({ from: { file }, to: store }, MOVE);
  const { run } = await openTestClient(store.store.url);
  await run({ text: "UPDATE vault.token SET presented = 'x' WHERE id = 'token-1'" });
  const back = { file: join(folder, 'back.db') };
  await expect(moveVault({ from: store, to: back }, MOVE)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringContaining('token-1'),
  });
  expect(readdirSync(folder)).toEqual(['vault.db.moved']);
  await openVaultAt(store, { credential: CREDENTIAL }).then((vault) => vault.close());
});

it('copies a vault that others use, and leaves it as it is', async () => {
  const { folder, file, apiKey } = await everyKind();
  const copy = { ...MOVE, keepSource: true };
  const vault = await openVaultAt({ file }, { credential: CREDENTIAL });
  const [store, back] = [await newStore(), { file: join(folder, 'copy.db') }];
  await moveVault({ from: { file }, to: store }, copy);
  const served = await openVaultAt(store, { credential: CREDENTIAL });
  await moveVault({ from: store, to: back }, copy);
  for (const one of [vault, served]) {
    const body = { type: 'token', data: 'new' };
    expect(await callVault(one, apiKey, 'createToken', { body })).toMatchObject({ status: 201 });
    await one.close();
  }
  for (const location of [{ file }, store, back]) expect(await check(location)).toMatchObject({ ok: true });
});

it.each(['file', 'store'])('after a move, accepts its target, but no older copy in a %s', async (kind) => {
  const { folder, file, apiKey } = await fileVault(1);
  const location = async (name: string) => (kind === 'file' ? { file: join(folder, name) } : newStore());
  const [older, target] = [await location('older.db'), await location('target.db')];
  await moveVault({ from: { file }, to: older }, { ...MOVE, keepSource: true });
  await moveVault({ from: { file }, to: target }, MOVE);
  const vault = await openVaultAt(target, { credential: CREDENTIAL });
  const body = { type: 'token', data: 'new' };
  expect(await callVault(vault, apiKey, 'createToken', { body })).toMatchObject({ status: 201 });
  await vault.close();
  expect(await moveVault({ from: { file }, to: target }, MOVE)).toBeUndefined();
  await expect(moveVault({ from: { file }, to: older }, MOVE)).rejects.toMatchObject({ code: 'store_missing' });
});

it('lets the daemons of a database report at once that it was moved', async () => {
  const { folder, file, apiKey } = await fileVault(2);
  const store = await newStore();
  await moveVault({ from: { file }, to: store }, MOVE);
  const vault = await openVaultAt(store, { credential: CREDENTIAL });
  const read = () => callVault(vault, apiKey, 'getToken', { id: 'token-1' });
  const write = (id: string) => callVault(vault, apiKey, 'createToken', { body: { id, type: 'token', data: 1 } });
  expect([await read(), await write('new-a')]).toMatchObject([{ status: 200 }, { status: 201 }]);
  await moveVault({ from: store, to: { file: join(folder, 'back.db') } }, MOVE);
  const moved = { status: 503, body: { type: expect.stringContaining('vault_moved') } };
  expect([await read(), await write('new-b')]).toMatchObject([moved, moved]);
  await expect(vault.ready()).rejects.toMatchObject({ code: 'vault_moved' });
  // A write that was sent before finds the audit closed.
  const { run } = await openTestClient(store.store.url);
  await expect(run(HEAD_ROW.lockHead)).rejects.toMatchObject({ code: '22012' });
  await vault.close().catch(() => undefined);
});

/** Returns a location whose method `name` fails, before or after its work, as if the process were killed there. */
function killedAt(location: MoveLocation, name: 'makeCopy' | 'finishCopy' | 'leave', isAfter: boolean): MoveLocation {
  const dying =
    <Args extends readonly unknown[]>(work: (...args: Args) => Promise<void>) =>
    async (...args: Args) => {
      if (isAfter) await work(...args);
      throw new Error('killed');
    };
  return {
    ...location,
    ...(name === 'makeCopy' && { makeCopy: dying(location.makeCopy) }),
    ...(name === 'finishCopy' && { finishCopy: dying(location.finishCopy) }),
    async openSource(keep) {
      const source = await location.openSource(keep);
      return name === 'leave' ? { ...source, leave: dying(source.leave) } : source;
    },
  };
}

const serves = (location: VaultLocation) =>
  openVaultAt(location, { credential: CREDENTIAL }).then(
    async (vault) => {
      await vault.close();
      return true;
    },
    () => false,
  );

/** Each step with each kind of target and each way to continue. Check 29 of the store kills at other times, too. */
const KILLS = (['makeCopy', 'leave', 'finishCopy'] as const).flatMap((name) =>
  [false, true].flatMap((isAfter) =>
    ['file', 'store'].map((kind) => [name, isAfter, kind, (kind === 'file') === isAfter] as const),
  ),
);

it.each(KILLS)(
  'killed at %s (after it: %s) to a %s, then aborted (%s) or run again',
  async (name, isAfter, kind, aborts) => {
    const { folder, file, apiKey } = await fileVault(3);
    const first = await newStore();
    if (kind === 'file') await moveVault({ from: { file }, to: first }, MOVE);
    const [from, to] = kind === 'file' ? [first, { file: join(folder, 'target.db') }] : [{ file }, first];
    const ends = {
      from: killedAt(await movedLocation(from), name, isAfter),
      to: killedAt(await movedLocation(to), name, isAfter),
    };
    await expect(moveBetween(ends, MOVE)).rejects.toThrow('killed');

    const isOver = name === 'finishCopy' && isAfter;
    const isLeft = name === 'finishCopy' || (name === 'leave' && isAfter);
    expect([await serves(from), await serves(to)]).toEqual([!isLeft, isOver]);
    if (!aborts) {
      await moveVault({ from, to }, MOVE);
      expect([await serves(from), await serves(to)]).toEqual([false, true]);
      expect(await check(to)).toMatchObject({ ok: true, checked: { tokens: 3 } });
      expect(await data(to, apiKey, 'token-1')).toBe(1);
    } else if (isOver) {
      await expect(abortMove({ from, to })).rejects.toMatchObject({ code: 'store_missing' });
      expect(await serves(to)).toBe(true);
    } else {
      await abortMove({ from, to });
      expect([await serves(from), await serves(to)]).toEqual([true, false]);
      expect(await check(from)).toMatchObject({ ok: true, checked: { tokens: 3 } });
      await moveVault({ from, to }, MOVE);
      expect(await check(to)).toMatchObject({ ok: true, checked: { tokens: 3 } });
    }
  },
);
