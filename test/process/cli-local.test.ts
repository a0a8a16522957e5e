import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { cleanEnvironment, startServe } from '../scripts/run-script.ts';
import { endOf, makePlace, type Place, VAULT_BIN } from './cli-fixture.ts';

const posix = process.platform !== 'win32';

let place: Place;
let cwd: string;
let vault: Place['vault'];
beforeEach(() => {
  place = makePlace(onTestFinished);
  ({ cwd, vault } = place);
});

const inside = (name: string) => path.join(cwd, name);
const mode = (name: string) => statSync(inside(name)).mode & 0o777;

describe('vault init', () => {
  it('creates the file, its key and a tenant whose key works', async () => {
    const made = await vault('init --tenant acme');
    const stderr = expect.stringMatching(/^vault: .\/vault.db.key is in the vault's folder: .*\nhint: .*\n$/);
    expect(made).toMatchObject({ exitCode: 0, stderr });
    const { file, tenant, application } = JSON.parse(made.stdout);
    expect(file).toBe('./vault.db');
    expect(tenant.name).toBe('acme');
    expect(application).toMatchObject({ type: 'management', tenant_id: tenant.id });
    expect(readFileSync(inside('vault.db.key'))).toHaveLength(32);
    if (posix) expect([mode('vault.db'), mode('vault.db.key')]).toEqual([0o600, 0o600]);
    expect(await vault('tenant get --field name', { VAULT_API_KEY: application.key })).toMatchObject({
      stdout: 'acme\n',
    });
  });

  it('never touches an existing file', async () => {
    writeFileSync(inside('vault.db'), 'mine');
    expect(await vault('init')).toMatchObject({ exitCode: 6, stdout: '', stderr: expect.stringContaining('exists') });
    expect(readFileSync(inside('vault.db'), 'utf8')).toBe('mine');
    expect(readdirSync(cwd)).toEqual(['vault.db']);
  });

  it('leaves nothing behind when it fails', async () => {
    mkdirSync(inside('keys'));
    const failed = await vault('init --file no/such/folder/v.db --key-file keys/k');
    expect(failed).toMatchObject({ exitCode: 2, stdout: '' });
    expect(readdirSync(inside('keys'))).toEqual([]);
  });

  it('accepts a passphrase, and rejects a short or wrong one', async () => {
    writeFileSync(inside('short'), 'short\n', { mode: 0o600 });
    writeFileSync(inside('pass'), 'correct horse battery\n', { mode: 0o600 });
    writeFileSync(inside('wrong'), 'incorrect horse battery\n', { mode: 0o600 });
    expect(await vault('init --passphrase-file short')).toMatchObject({ exitCode: 2 });
    expect(await vault('init --passphrase-file pass')).toMatchObject({ exitCode: 0 });
    expect(existsSync(inside('vault.db.key'))).toBe(false);
    const list = ['tenant', 'list', '--field', 'data[0].name'];
    expect(await vault([...list, '--passphrase-file', 'pass'])).toMatchObject({ exitCode: 0, stdout: 'default\n' });
    expect(await vault(list, { VAULT_PASSPHRASE_FILE: 'wrong' })).toMatchObject({ exitCode: 10 });
    expect(await vault([...list, '--passphrase-file', '-'], {}, 'correct horse battery')).toMatchObject({
      exitCode: 0,
    });
    const unnamed = await vault(list);
    expect(unnamed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--passphrase-file') });
  });

  it.each([
    ['a bad field', ['--field', 'application.kye']],
    ['an empty name', ['--tenant', '']],
    ['two credentials', ['--key-file', 'a', '--passphrase-file', 'b']],
  ])('rejects %s before it creates anything', async (_what, words) => {
    expect(await vault(['init', ...words])).toMatchObject({ exitCode: 2, stdout: '' });
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('rejects a key file of the wrong size', async () => {
    writeFileSync(inside('k'), 'too short', { mode: 0o600 });
    expect(await vault('init --key-file k')).toMatchObject({ exitCode: 10 });
  });
});

describe('vault serve', () => {
  it('serves, prints its URL, and stops cleanly', async () => {
    await vault('init');
    const daemon = await startServe(cwd, ['--log', 'false']);
    expect(daemon.ready).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      pid: expect.any(Number),
      version: expect.any(String),
    });
    if (posix) expect(mode('ready.json')).toBe(0o600);
    expect(await vault(['wait', '--timeout', '5s', '--url', String(daemon.ready['url'])])).toMatchObject({
      exitCode: 0,
      stderr: '',
    });
    expect(await daemon.stop()).toBe(0);
    expect(existsSync(inside('ready.json'))).toBe(false);
  });

  it.skipIf(!posix)('listens on a socket with another header prefix', async () => {
    const made = JSON.parse((await vault('init')).stdout);
    const daemon = await startServe(cwd, ['--socket', inside('s'), '--header-prefix', 'ABC']);
    const env = { VAULT_URL: `unix:${inside('s')}`, VAULT_HEADER_PREFIX: 'ABC', VAULT_API_KEY: made.application.key };
    expect(daemon.ready['url']).toBe(env.VAULT_URL);
    expect(await vault('tenant get -q', env)).toMatchObject({ stdout: `${made.tenant.id}\n` });
    expect(await vault('tenant get -q', { ...env, VAULT_HEADER_PREFIX: 'SVC' })).toMatchObject({ exitCode: 4 });
    expect(await daemon.stop()).toBe(0);
  });

  it('reads its limits from flags', async () => {
    const daemon = await startServe(cwd, ['--dev', '--max-body', '1KiB']);
    const env = { VAULT_URL: String(daemon.ready['url']), VAULT_API_KEY: String(daemon.ready['private_key']) };
    const create = ['tokens', 'create', '--type', 'token', '--text', '-', '-q'];
    expect(await vault(create, env, 'x'.repeat(900))).toMatchObject({ exitCode: 0 });
    expect(await vault(create, env, 'x'.repeat(1100))).toMatchObject({ exitCode: 7 });
    await daemon.stop();
  });

  it('fails without a vault, and on a public host without TLS', async () => {
    expect(await vault('serve')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('vault init') });
    await vault('init');
    expect(await vault('serve --host 0.0.0.0 --port 0')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--insecure-http'),
    });
  });
});

describe('vault serve --dev', () => {
  it('prints working keys and a working curl line, and removes its files at the end', async () => {
    const child = spawn(process.execPath, [VAULT_BIN, 'serve', '--dev', '--port', '0'], {
      cwd,
      env: cleanEnvironment({ TMPDIR: cwd, TEMP: cwd, TMP: cwd }),
    });
    let stdout = '';
    const ended = new Promise((resolve) => child.on('close', resolve));
    await new Promise<void>((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
        if (/^curl .*\n$/m.test(stdout)) resolve();
      });
      child.on('close', () => resolve());
    });
    const rows = Object.fromEntries(stdout.split('\n').map((line) => line.split(/ +/, 2)));
    const env = (key: string) => ({ VAULT_URL: rows.url, VAULT_API_KEY: rows[key] });
    expect(await vault('tenant get -q', env('management_key'))).toMatchObject({ stdout: `${rows.tenant_id}\n` });
    expect(await vault('tokens create --type token --text x --field created_at', env('private_key'))).toMatchObject({
      exitCode: 0,
    });
    if (posix) {
      const answer = execFileSync('sh', ['-c', /^curl .*$/m.exec(stdout)?.[0] ?? 'false'], { encoding: 'utf8' });
      expect(JSON.parse(answer)).toMatchObject({ type: 'card', data: { number: 'XXXXXXXXXXXX4242' } });
    }
    expect(readdirSync(cwd)).toHaveLength(1);
    child.kill('SIGTERM');
    expect(await ended).toBe(posix ? 0 : null);
    if (posix) expect(readdirSync(cwd)).toEqual([]);
  });

  it('keeps a named file, and prints the same keys the next time', async () => {
    const words = ['--dev', '--file', 'dev.db'];
    const first = await startServe(cwd, words);
    const keys = ({ tenant_id, management_key, private_key }: Readonly<Record<string, unknown>>) => ({
      tenant_id,
      management_key,
      private_key,
    });
    const env = { VAULT_URL: String(first.ready['url']), VAULT_API_KEY: String(first.ready['private_key']) };
    await vault('tokens create --type token --id kept --text x', env);
    await first.stop();
    expect(readdirSync(cwd).sort()).toEqual(['dev.db', 'dev.db.dev.json', 'dev.db.key']);
    if (posix) expect([mode('dev.db.key'), mode('dev.db.dev.json')]).toEqual([0o600, 0o600]);
    const second = await startServe(cwd, words);
    expect(keys(second.ready)).toEqual(keys(first.ready));
    await second.stop();
    const direct = { VAULT_FILE: 'dev.db', VAULT_API_KEY: String(first.ready['private_key']) };
    expect(await vault('tokens get kept --field data', direct)).toMatchObject({ stdout: 'x\n' });
  });

  it('adds no keys to a vault that init created', async () => {
    await vault('init');
    expect(await vault('serve --dev --file vault.db --port 0')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('was not created by `vault serve --dev`'),
    });
  });
});

describe('manners', () => {
  it.skipIf(!posix)('an interrupted command exits with 130 and prints nothing', async () => {
    const child = start(['wait', '--timeout', '30s', '--url', 'http://127.0.0.1:1']);
    await sleep(1000);
    child.kill('SIGINT');
    expect(await endOf(child, 30_000)).toMatchObject({ exitCode: 130, stderr: '' });
  });

  const warning = expect.stringMatching(/^vault: x.db.key is in the vault's folder/);
  it.each([
    [['--help'], ''],
    [['init', '--file', 'x.db'], warning],
  ])('%j exits quietly when its reader has gone', async (words, stderr) => {
    const child = start(words);
    child.stdout.destroy();
    expect(await endOf(child, 30_000)).toMatchObject({ exitCode: 0, stderr });
  });

  it.skipIf(!posix)('a second signal stops the daemon at once, even with a hanging request', async () => {
    const daemon = await startServe(cwd, ['--dev']);
    const { hostname, port, host } = new URL(String(daemon.ready['url']));
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(`POST /tokens HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 10\r\n\r\n{`);
    await sleep(200);
    const ended = daemon.stop();
    await sleep(200);
    expect(existsSync(inside('ready.json'))).toBe(true);
    await daemon.stop();
    expect(await ended).toBe(128 + 15);
    expect(existsSync(inside('ready.json'))).toBe(false);
    socket.destroy();
  });
});

function start(words: readonly string[]) {
  return spawn(process.execPath, [VAULT_BIN, ...words], {
    cwd,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
