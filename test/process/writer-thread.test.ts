import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { threadedStore } from '../../src/store/sqlite/commit/threaded-store.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { startWriter } from '../../src/vault/writer.ts';
import { copyProduct } from '../checks/patched-product.ts';
import { addTenant, addToken, NOW } from '../conformance/store-fixtures.ts';
import { startServe, VAULT } from '../scripts/run-script.ts';
import { openStore, temporaryVault } from '../unit/store-sqlite-fixture.ts';
import { makePlace, send } from './cli-fixture.ts';

const SECRET = '4012888888881881';
const FILE = { VAULT_FILE: 'v.db' };
const RULE = 'container=/ transform=reveal permissions=token:create,token:read,token:update,token:delete';

const place = makePlace();
let managementKey = '';
let key = '';
beforeAll(async () => {
  managementKey = await place.init('v');
  key = (await makeWriter()).key;
});

async function makeWriter(): Promise<{ readonly id: string; readonly key: string }> {
  const words = ['apps', 'create', '--name', 'w', '--type', 'private', '--rule', RULE, '-o', 'json'];
  return JSON.parse((await place.vault(words, { ...FILE, VAULT_API_KEY: managementKey })).stdout);
}

let count = 0;
async function serve(bin = VAULT) {
  count += 1;
  const cwd = place.inside(`served-${count}`);
  mkdirSync(cwd);
  const daemon = await startServe(cwd, ['--file', place.inside('v.db')], { bin });
  const ask = (line: string, body?: object, apiKey = key) => send(daemon.url, line, apiKey, body);
  /** Creates enough tokens at a time to start the thread. */
  const createMany = (many: number) =>
    Promise.all(Array.from({ length: many }, () => ask('POST /tokens', { type: 'token', data: SECRET })));
  return { ...daemon, ask, createMany };
}

const statuses = (replies: readonly { readonly status: number }[]) => [...new Set(replies.map(({ status }) => status))];

describe('the writer thread', () => {
  it('makes simultaneous writes, in one audit chain with other writes', async () => {
    const { ask, createMany, stop } = await serve();
    const made = [...(await createMany(30)), ...(await createMany(30)), ...(await createMany(1))];
    expect(statuses(made)).toEqual([201]);
    const ids: readonly string[] = made.map(({ body }) => body.id);
    const patched = await Promise.all(ids.map((id) => ask(`PATCH /tokens/${id}`, { metadata: { n: id } })));
    expect(patched.map(({ status, body }) => [status, body.metadata.n])).toEqual(ids.map((id) => [200, id]));
    const [gone, left] = ids;
    const twice = await Promise.all([ask(`DELETE /tokens/${gone}`), ask(`DELETE /tokens/${gone}`)]);
    expect(twice.map(({ status }) => status).sort()).toEqual([204, 404]);
    expect(await ask('POST /tokens', { id: left, type: 'token', data: 1 })).toMatchObject({ status: 409 });
    expect(await ask('GET /tokens')).toMatchObject({ status: 200, body: { pagination: { total_items: 60 } } });
    expect(await stop()).toBe(0);
    expect((await place.vault(['audit', 'verify'], FILE)).exitCode).toBe(0);
    expect((await place.vault(['doctor'], FILE)).exitCode).toBe(0);
  });

  it('follows other processes that rotate keys or delete applications', async () => {
    const other = await makeWriter();
    const { ask, createMany, stop } = await serve();
    const rotated = place.vault(['keys', 'rotate', '--yes'], FILE);
    for (let round = 0; round < 5; round += 1) expect(statuses(await createMany(10))).toEqual([201]);
    expect((await rotated).exitCode).toBe(0);
    expect(statuses(await createMany(10))).toEqual([201]);

    expect(await ask('GET /tokens?size=1', undefined, other.key)).toMatchObject({ status: 200 });
    const writing = createMany(10);
    await place.vault(['apps', 'delete', other.id, '--yes'], { ...FILE, VAULT_API_KEY: managementKey });
    expect(await ask('GET /tokens?size=1', undefined, other.key)).toMatchObject({ status: 401 });
    expect(statuses(await writing)).toEqual([201]);
    expect(await stop()).toBe(0);
    expect((await place.vault(['doctor'], FILE)).exitCode).toBe(0);
  });
});

describe('a store with the thread of the product', () => {
  async function open() {
    const file = await temporaryVault();
    const { session } = await openVaultFile(file);
    const start = vi.fn(() => startWriter(session));
    return { file, store: threadedStore(session, start), start };
  }

  it('completes writes in flight when it closes', async () => {
    const { file, store } = await open();
    const { id } = await addTenant(store);
    await store.startThread();
    const written = Promise.all([addToken(store, id), addToken(store, id)]);
    await store.close();
    const [token] = await written;
    expect(await (await openStore(file)).findToken(id, token?.id ?? '', NOW)).toBeDefined();
  });

  it('writes a single token here again once the thread is idle, and in the thread while the disk is slow', async () => {
    const { store, start } = await open();
    const { id } = await addTenant(store);
    await store.startThread();
    const writer = await start.mock.results[0]?.value;
    const sent = vi.spyOn(writer, 'write');
    const count = async (add: () => Promise<unknown>) => {
      sent.mockClear();
      await add();
      return sent.mock.calls.length;
    };
    let ms = 0;
    let seconds = 1;
    vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += ms / 1000));
    const one = () => addToken(store, id);
    expect(await count(() => Promise.all([one(), one(), one()]))).toBe(2);
    expect(await count(one)).toBe(0);
    // One slow commit is an exception.
    ms = 20;
    expect(await count(one)).toBe(0);
    ms = 3;
    for (let n = 0; n < 20; n += 1) await one();
    ms = 0;
    expect(await count(one)).toBe(1);
    seconds += 1;
    expect(await count(one)).toBe(0);
    vi.restoreAllMocks();
    await store.close();
  });

  it('starts no thread while it closes', async () => {
    const { store, start } = await open();
    const { id } = await addTenant(store);
    const closed = store.close();
    await Promise.allSettled([addToken(store, id), addToken(store, id)]);
    await closed;
    expect(start).not.toHaveBeenCalled();
  });

  it('starts no thread on a replaced file, and writes to neither file', async () => {
    const { file, store, start } = await open();
    const { id } = await addTenant(store);
    renameSync(await temporaryVault(), file);
    await store.startThread();
    await expect(start.mock.results[0]?.value).rejects.toThrow('was replaced');
    await expect(addToken(store, id)).rejects.toMatchObject({ code: 'vault_moved' });
    await store.close();
  });

  it('takes turns with the writes of the main thread', async () => {
    // Use a disk: a write in memory is too short to show the turns.
    vi.stubEnv('TMPDIR', '');
    const { store } = await open();
    vi.unstubAllEnvs();
    const { id } = await addTenant(store);
    await store.startThread();
    const [tokens, most] = [20, 2000];
    let others = 0;
    let isDone = false;
    const writing = (async () => {
      for (; !isDone && others < most; others += 1) await addTenant(store);
    })();
    // A single token would be written by the main thread.
    const some = () => Promise.all([1, 2, 3].map(() => addToken(store, id)));
    for (let token = 0; token < tokens; token += 1) await some();
    isDone = true;
    await writing;
    // With turns, the main thread makes about one write for each write of the thread. Without turns, it makes four to
    // seven.
    expect(others / tokens).toBeLessThan(3);
    await store.close();
  });

  it.runIf(process.platform === 'linux')('keeps the locks of a file that it cannot open', async () => {
    const { file, store, start } = await open();
    const { ino } = statSync(file);
    const locks = () => readFileSync('/proc/locks', 'utf8').match(new RegExp(`READ ${process.pid} \\S+:${ino} `, 'g'));
    await store.ping();
    expect(locks()).toHaveLength(1);
    chmodSync(file, 0o620);
    await store.startThread();
    await expect(start.mock.results[0]?.value).rejects.toThrow('can be written by other users');
    // An older SQLite that finds no lock deletes the log when it closes the file. All later writes would be lost.
    expect(locks()).toHaveLength(1);
    await store.close();
  });
});

describe('a product whose thread', () => {
  const { folder, bin, remove } = copyProduct();
  const thread = path.join(folder, 'dist/vault/writer-thread.js');
  afterAll(remove);

  it('crashes exits with 70, logs no data, and loses no acknowledged write', async () => {
    const bug = `throw new TypeError('${SECRET} is not iterable')`;
    writeFileSync(
      thread,
      `import { parentPort } from 'node:worker_threads';
       parentPort.postMessage('ready');
       parentPort.on('message', () => { ${bug}; });`,
    );
    const { ask, stop, told } = await serve(bin);
    const before = (await ask('GET /tokens?size=1')).body.pagination.total_items;
    const answered: number[] = [];
    for (let round = 0; round < 50; round += 1) {
      const create = () => ask('POST /tokens', { type: 'token', data: SECRET });
      const replies = await Promise.allSettled([create(), create(), create(), create()]);
      answered.push(...replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value.status] : [])));
    }
    expect(answered).toContain(500);
    // Requests that arrive during the stop get 503.
    expect(answered.filter((status) => ![201, 500, 503].includes(status))).toEqual([]);
    expect(await stop()).toBe(70);
    expect(told()).toContain('stopping after an uncaught error');
    expect(told()).not.toContain(SECRET);
    const list = await place.vault(['tokens', 'list', '--size', '1'], { ...FILE, VAULT_API_KEY: key });
    const made = answered.filter((status) => status === 201).length;
    expect(JSON.parse(list.stdout).pagination.total_items).toBe(before + made);
    expect((await place.vault(['audit', 'verify'], FILE)).exitCode).toBe(0);
  });

  it('cannot start or is missing works without it', async () => {
    writeFileSync(thread, "throw new Error('does not start');");
    const failing = await serve(bin);
    for (let round = 0; round < 5; round += 1) expect(statuses(await failing.createMany(10))).toEqual([201]);
    expect(await failing.stop()).toBe(0);
    rmSync(thread);
    const without = await serve(bin);
    for (let round = 0; round < 5; round += 1) expect(statuses(await without.createMany(10))).toEqual([201]);
    expect(await without.stop()).toBe(0);
  });
});
