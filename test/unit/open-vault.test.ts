import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FAULTS } from '../../src/contract/faults.ts';
import { loadSodium } from '../../src/keyring/sodium.ts';
import { type OpenedVault, type OpenVaultOptions, openVault } from '../../src/library/open-vault.ts';
import { createVault } from '../../src/vault/vault.ts';
import { fakeableTimers, hurriedTime } from '../fakeable-timers.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { rawConnection } from './store-sqlite-fixture.ts';

fakeableTimers();

const posix = process.platform !== 'win32';
const PERMISSIONS = ['token:create', 'token:read'] as const;
/** 32 different bytes. */
const KEY = new Uint8Array(32).map((_, at) => at + 1);
const RULE = { description: '', priority: 1, container: '/', transform: 'reveal', permissions: PERMISSIONS } as const;

/** Creates a vault file and its default key file, and closes the vault. */
async function makeVault() {
  const folder = temporaryFolder(onTestFinished);
  const file = path.join(folder, 'v.db');
  await using vault = await openVault({ file, createIfMissing: true });
  return { folder, file, management: vault.created?.management_key ?? '' };
}

async function privateKey(vault: OpenedVault, management: string): Promise<string> {
  const body = { name: 'p', type: 'private', rules: [RULE] } as const;
  return (await vault.client({ apiKey: management }).createApplication({ body })).key ?? '';
}

describe('openVault', () => {
  it('creates a vault only on request, with the named key', async () => {
    const folder = temporaryFolder(onTestFinished);
    const at = (name: string) => path.join(folder, name);
    await expect(openVault({ file: at('a.db') })).rejects.toMatchObject({ code: 'file_missing' });
    expect([existsSync(at('a.db')), existsSync(at('a.db.key'))]).toEqual([false, false]);
    const cases: readonly Omit<OpenVaultOptions, 'file'>[] = [
      {},
      { keyFile: at('other.key') },
      { key: KEY },
      ...(posix ? [{ keyCommand: `cat ${at('other.key')}` }] : []),
      { passphrase: 'correct horse battery' },
      { anchor: at('anchor') },
    ];
    for (const [number, options] of cases.entries()) {
      const file = at(`${number}.db`);
      const made = await openVault({ file, createIfMissing: true, ...options });
      expect(made.created).toEqual({
        tenant_id: expect.any(String),
        management_key: expect.stringMatching(/^key_/),
      });
      const apiKey = made.created?.management_key ?? '';
      expect((await made.client({ apiKey }).getTenant()).id).toBe(made.created?.tenant_id);
      await made.close();
      await using opened = await openVault({ file, createIfMissing: true, ...options });
      expect(opened.created).toBeUndefined();
      expect((await opened.client({ apiKey }).getTenant()).name).toBe('default');
    }
    expect(existsSync(at('anchor'))).toBe(true);
  });

  it('does not make a vault with a default key file that it finds', async () => {
    const file = path.join(temporaryFolder(onTestFinished), 'v.db');
    const key = Buffer.from(KEY);
    writeFileSync(`${file}.key`, key, { mode: 0o600 });
    const refused = openVault({ file, createIfMissing: true });
    await expect(refused).rejects.toMatchObject({ code: 'file_exists', hint: `pass keyFile '${file}.key' to use it` });
    expect([existsSync(file), readFileSync(`${file}.key`)]).toEqual([false, key]);
    await (await openVault({ file, keyFile: `${file}.key`, createIfMissing: true })).close();
    await (await openVault({ file, key })).close();
  });

  it('leaves no key file of a vault that it could not create', async () => {
    const folder = temporaryFolder(onTestFinished);
    const file = path.join(folder, 'none', 'v.db');
    const keyFile = path.join(folder, 'v.key');
    await expect(openVault({ file, keyFile, createIfMissing: true })).rejects.toMatchObject({
      code: 'file_unwritable',
    });
    expect(existsSync(keyFile)).toBe(false);
  });

  it.each<readonly [string, string, (file: string) => unknown]>([
    ['another key', 'wrong_credential', () => ({ key: new Uint8Array(32) })],
    ['a passphrase in place of a key', 'wrong_credential', () => ({ passphrase: 'correct horse battery' })],
    ['a command that prints no key', 'wrong_credential', () => ({ keyCommand: 'node --version' })],
    ['a command that fails', 'usage', () => ({ keyCommand: 'node no-such-file.js' })],
    ['a key file that is missing', 'usage', (file) => ({ keyFile: `${file}.none` })],
    ['a key file that others can read', 'file_unsafe', (file) => chmodSync(`${file}.key`, 0o644)],
    ['a key file of another length', 'wrong_credential', (file) => truncateSync(`${file}.key`, 31)],
    ['another file without a key file', 'credential_missing', () => ({ file: 'package.json', keyFile: undefined })],
    ['another file', 'not_a_vault', (file) => writeFileSync(file, 'x'.repeat(8192))],
  ])('rejects %s: %s', async (_what, code, spoil) => {
    const { file } = await makeVault();
    const spoilt = spoil(file);
    const options: Partial<OpenVaultOptions> = typeof spoilt === 'object' ? { ...spoilt } : {};
    // Windows has no Unix owners and modes.
    if (!posix && code === 'file_unsafe') return;
    const opened = openVault({ file, keyFile: `${file}.key`, ...withoutKeyFile(options) });
    await expect(opened).rejects.toMatchObject({ name: 'Fault', code, message: expect.not.stringContaining('--') });
  });

  it.each<readonly [string, Partial<OpenVaultOptions>]>([
    ['key', { key: new Uint8Array(32) }],
    ['key', { key: Buffer.alloc(32, 7) }],
    ['keyFile', { keyFile: 'sevens' }],
    ...(posix ? ([['keyCommand', { keyCommand: 'cat sevens' }]] as const) : []),
  ])('makes no vault with a %s of 32 equal bytes, and opens one that it has', async (name, options) => {
    const folder = temporaryFolder(onTestFinished);
    const at = (text: string) => text.replace('sevens', path.join(folder, 'sevens'));
    writeFileSync(at('sevens'), new Uint8Array(32).fill(7), { mode: 0o600 });
    const given = Object.entries(options).map(([key, value]) => [key, typeof value === 'string' ? at(value) : value]);
    const file = path.join(folder, 'v.db');
    const made = openVault({ file, createIfMissing: true, ...Object.fromEntries(given) });
    await expect(made).rejects.toMatchObject({ code: 'usage', message: `${name}: a new key cannot be 32 equal bytes` });
    expect(existsSync(file)).toBe(false);
    const credential = { kind: 'key_file', key: new Uint8Array(32).fill(7) } as const;
    await (await createVault({ file, credential, tenantName: 'former' })).vault.close();
    const sevens = 'key' in options ? { key: credential.key } : Object.fromEntries(given);
    await (await openVault({ file, createIfMissing: true, ...sevens })).close();
  });

  it.each<readonly [unknown, string]>([
    [undefined, 'openVault expects an object of options'],
    [{}, 'openVault: file (a path) or store (a URL) is required'],
    [{ file: 'v.db', store: 'postgres://u@h/d' }, 'openVault: only one of file and store can be given'],
    [{ store: 'postgres://u@h/d' }, 'openVault: a store needs keyFile, keyCommand, key or passphrase'],
    [{ store: 'postgres://u@h/d', createIfMissing: true }, 'openVault: createIfMissing works only with file'],
    [{ file: '' }, 'openVault: file must be a path'],
    [{ file: 'v.db', keyfile: 'k' }, 'openVault has no option keyfile; did you mean keyFile?'],
    [{ file: 'v.db', key: 'k' }, 'openVault: key must be a Uint8Array of 32 bytes'],
    [{ file: 'v.db', key: new Uint8Array(31) }, 'openVault: key must be a Uint8Array of 32 bytes'],
    [{ file: 'v.db', createIfMissing: 1 }, 'openVault: createIfMissing must be true or false'],
    [{ file: 'v.db', keyFile: 'k', passphrase: 'p' }, 'openVault: only one of keyFile and passphrase can be given'],
  ])('rejects %j', async (options, message) => {
    await expect(openVault(options as OpenVaultOptions)).rejects.toThrow(new TypeError(message));
  });

  it('names no flag for a weak passphrase', async () => {
    const { file } = await makeVault();
    const refused = openVault({ file: `${file}.new`, createIfMissing: true, passphrase: 'abc' });
    await expect(refused).rejects.toMatchObject({ code: 'weak_passphrase', hint: 'use a longer passphrase' });
  });

  it('rejects an unknown option of a client', async () => {
    const { file } = await makeVault();
    await using vault = await openVault({ file });
    const options = { apiKey: 'k', timeOut: 1 };
    expect(() => vault.client(options)).toThrow(new TypeError('client has no option timeOut; did you mean timeout?'));
  });

  it('reports a missing default key file as the command does', async () => {
    const { file } = await makeVault();
    rmSync(`${file}.key`);
    const refused = openVault({ file });
    const message = `no key for ${file}: ${file}.key does not exist`;
    await expect(refused).rejects.toMatchObject({ code: 'credential_missing', message });
    await expect(refused).rejects.toMatchObject({ hint: FAULTS.credential_missing.hint });
  });

  it('reads no file or key from the environment', async () => {
    const { file } = await makeVault();
    for (const name of ['FILE', 'KEY_FILE', 'KEY_COMMAND', 'PASSPHRASE_FILE', 'API_KEY'].map((end) => `VAULT_${end}`)) {
      vi.stubEnv(name, '/nowhere');
    }
    onTestFinished(() => void vi.unstubAllEnvs());
    await (await openVault({ file })).close();
  });
});

/** A row that names a key or passphrase replaces the key file. */
function withoutKeyFile(options: Partial<OpenVaultOptions>): Partial<OpenVaultOptions> {
  const namesOther = (options.key ?? options.passphrase ?? options.keyCommand) !== undefined;
  return namesOther ? { ...options, keyFile: undefined } : options;
}

describe('an opened vault', () => {
  it('closes once, after the calls that run, and then rejects calls', async () => {
    const { file, management } = await makeVault();
    const vault = await openVault({ file });
    const client = vault.client({ apiKey: await privateKey(vault, management) });
    const created = Array.from({ length: 50 }, (_, n) => client.createToken({ body: { type: 'token', data: n } }));
    const waiting = vault.client({ apiKey: management }).listLogs({
      query: { after: '0.0', wait: 25, operation: 'deleteTenant' },
    });
    const began = performance.now();
    const closed = vault.close();
    expect(vault.close()).toBe(closed);
    expect(vault[Symbol.asyncDispose]()).toBe(closed);
    await expect(client.listTokens()).rejects.toMatchObject({ name: 'Fault', message: 'the vault is closed' });
    await closed;
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(new Set((await Promise.all(created)).map(({ id }) => id)).size).toBe(50);
    expect((await waiting).data).toEqual([]);
    await using again = await openVault({ file });
    const list = again.client({ apiKey: await privateKey(again, management) }).listTokens();
    expect((await list).pagination.total_items).toBe(50);
  });

  it.each(['closed', 'refused'])('wipes its copy of the key, and no other, when it is %s', async (end) => {
    const file = path.join(temporaryFolder(onTestFinished), 'v.db');
    await (await openVault({ file, key: KEY, createIfMissing: true })).close();
    const used = Buffer.from(end === 'closed' ? KEY : KEY.toReversed());
    const before = [...used];
    const derive = vi.spyOn(await loadSodium(), 'crypto_generichash');
    onTestFinished(() => derive.mockRestore());
    // The derivation of 64 bytes from the key: its last argument is the copy.
    const copies = () => derive.mock.calls.flatMap(([length, , key]) => (length === 64 && key ? [key] : []));
    if (end === 'closed') {
      const vault = await openVault({ file, key: used });
      expect(copies()).toEqual([KEY]);
      await vault.close();
    } else await expect(openVault({ file, key: used })).rejects.toMatchObject({ code: 'wrong_credential' });
    expect(copies()).toEqual([new Uint8Array(32)]);
    expect([...used]).toEqual(before);
  });

  it('has the key that was passed, although the caller overwrites it at once', async () => {
    const file = path.join(temporaryFolder(onTestFinished), 'v.db');
    const key = Buffer.from(KEY);
    // One of the two creates the file, and the other tries again.
    const made = [1, 2].map(() => openVault({ file, key, createIfMissing: true }));
    key.fill(0);
    for (const vault of await Promise.all(made)) await vault.close();
    await (await openVault({ file, key: KEY })).close();
  });

  it('removes expired records every minute', async () => {
    const { file, management } = await makeVault();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    await using vault = await openVault({ file });
    const client = vault.client({ apiKey: await privateKey(vault, management) });
    const expires_at = new Date(Date.now() + 300).toISOString();
    await client.createToken({ body: { type: 'token', data: 1, expires_at } });
    const stored = (await rawConnection(file)).prepare('SELECT count(*) FROM token').pluck();
    await vi.waitFor(() => expect(client.listTokens()).resolves.toMatchObject({ data: [] }), { timeout: 5_000 });
    expect(stored.get()).toBe(1);
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(() => expect(stored.get()).toBe(0), { timeout: 5_000 });
  });

  // `vault restore --move-aside` takes such a lock to find out whether a process has the file open.
  it.runIf(process.platform === 'linux')(
    'keeps the locks of another vault of this process on the same file',
    async () => {
      const { file } = await makeVault();
      await using _first = await openVault({ file });
      await using _second = await openVault({ file });
      const take = `new (require('better-sqlite3'))(${JSON.stringify(file)}, { timeout: 0 }).exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version')`;
      expect(() => execFileSync(process.execPath, ['-e', take], { stdio: 'pipe' })).toThrow('database is locked');
    },
  );

  it('ends the wait of a call for new log entries when its signal aborts', async () => {
    const { file, management } = await makeVault();
    await using vault = await openVault({ file });
    const client = vault.client({ apiKey: management });
    const query = { after: '9999.0', wait: 25 };
    // An account has room for 8 such calls.
    for (let times = 0; times < 9; times += 1) {
      const waiting = client.listLogs({ query, signal: AbortSignal.timeout(150) });
      await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    }
  });

  it('reports that another process holds the file, as a daemon does', async () => {
    const { file, management } = await makeVault();
    await using vault = await openVault({ file });
    const apiKey = await privateKey(vault, management);
    const other = await rawConnection(file);
    other.exec('BEGIN IMMEDIATE');
    hurriedTime();
    const created = vault.client({ apiKey }).createToken({ body: { type: 'token', data: 1 } });
    await expect(created).rejects.toMatchObject({ code: 'vault_busy', status: 503, retryAfter: expect.any(Number) });
    other.exec('ROLLBACK');
  });
});
