import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Script } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/build-output.js';

const BIN = path.join(ROOT, 'bin/vault.js');
const CHUNKS = path.join(ROOT, 'dist/chunks');

const folder = mkdtempSync(path.join(tmpdir(), 'vault-start-'));
const tellModules = path.join(folder, 'tell-modules.cjs');
writeFileSync(
  tellModules,
  "process.on('exit', () => require('node:fs').writeSync(2, JSON.stringify(process.moduleLoadList)));",
);

const tellFiles = path.join(folder, 'tell-files.cjs');
writeFileSync(
  tellFiles,
  `const fs = require('node:fs');
  const { readFileSync } = fs;
  const names = [];
  fs.readFileSync = (file, ...options) => {
    names.push(String(file));
    return readFileSync(file, ...options);
  };
  process.on('exit', () => fs.writeSync(2, JSON.stringify(names)));`,
);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const variables: Record<string, string> = { NODE_OPTIONS: '', HOME: folder, XDG_CONFIG_HOME: folder };

function node(...args: readonly string[]) {
  const env = { ...process.env, ...variables };
  return spawnSync(process.execPath, args, { encoding: 'utf8', env });
}

/** Those modules of Node that a program had loaded at its end and that take long to load. */
function heavyModules(...args: readonly string[]): readonly string[] {
  const names: readonly string[] = JSON.parse(node('--require', tellModules, ...args).stderr);
  const heavy = ['child_process', 'crypto', 'fs/promises', 'http', 'net', 'perf_hooks', 'stream', 'tty'];
  return heavy.filter((name) => names.includes(`NativeModule ${name}`));
}

/** What of the product a command read before its end, without the hashes. */
function filesOfProduct(...args: readonly string[]): readonly string[] {
  const names: readonly string[] = JSON.parse(node('--require', tellFiles, BIN, ...args).stderr);
  return names
    .filter((name) => name.startsWith(path.join(ROOT, 'dist')) && name.endsWith('.cjs'))
    .map((name) => path.basename(name).replace(/-[^-]+(?=\.cjs$)/, ''));
}

describe('a start', () => {
  it.each(['--help', '--version'])('vault %s loads none of the heavy modules of Node', (flag) => {
    expect(heavyModules(BIN, flag)).toEqual([]);
  });

  it('tokens get on the file loads none of them either, and nothing of other operations', () => {
    const vault = (...words: readonly string[]) => {
      const { status, stdout, stderr } = node(BIN, ...words, '--output', 'json');
      if (status !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    };
    variables['VAULT_FILE'] = path.join(folder, 'vault.db');
    variables['VAULT_KEY_FILE'] = path.join(folder, 'vault.key');
    const { application } = vault('init');
    const rule = { description: 'all', priority: 1, container: '/', transform: 'reveal' };
    const rules = JSON.stringify({ ...rule, permissions: ['token:read', 'token:create'] });
    variables['VAULT_API_KEY'] = application.key;
    variables['VAULT_API_KEY'] = vault('apps', 'create', '--name', 'r', '--type', 'private', '--rule', rules).key;
    const { id } = vault('tokens', 'create', '--type', 'token', '--data', '"4242"');
    expect(vault('tokens', 'get', id).data).toBe('4242');
    // Windows has no file of random bytes, which libsodium starts with.
    const allowed = process.platform === 'win32' ? ['crypto', 'stream'] : [];
    const heavy = heavyModules(BIN, 'tokens', 'get', id);
    expect(heavy.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(filesOfProduct('tokens', 'get', id)).toEqual(['main.cjs', 'direct.cjs']);
    expect(filesOfProduct('tokens', 'list')).toEqual(['main.cjs', 'direct.cjs', 'operations.cjs']);
    expect(heavyModules(BIN, 'tokens', 'create', '--type', 'token', '--data', '1')).toContain('crypto');
  });

  it('would be found to load one', () => {
    expect(heavyModules('-e', 'process.stdout; require("node:crypto")')).toEqual(
      expect.arrayContaining(['crypto', 'net', 'stream']),
    );
  });

  it.each(['--help', '--version'])('vault %s is the same without the code that the build compiled', (flag) => {
    const usual = node(BIN, flag);
    expect(usual).toMatchObject({ status: 0, stderr: '' });
    expect(usual.stdout).toMatch(/vault/);
    // V8 takes compiled code only under the flags that it was compiled under.
    expect(node('--no-opt', BIN, flag)).toMatchObject({ status: 0, stderr: '', stdout: usual.stdout });
  });

  const cached = readdirSync(CHUNKS).filter((name) => existsSync(path.join(CHUNKS, `${name}.cache`)));

  function isTaken(name: string, source: string): boolean | undefined {
    const cachedData = readFileSync(path.join(CHUNKS, `${name}.cache`));
    return new Script(source, { filename: path.join(CHUNKS, name), cachedData }).cachedDataRejected === false;
  }

  it('has the code that the build compiled, and V8 takes it', () => {
    expect(cached.length).toBeGreaterThan(5);
    for (const name of cached) {
      const source = readFileSync(path.join(CHUNKS, name), 'latin1');
      expect([name, isTaken(name, source), isTaken(name, `${source} `)]).toEqual([name, true, false]);
    }
  });
});

describe('an end', () => {
  const tellEnd = path.join(folder, 'tell-end.cjs');
  writeFileSync(tellEnd, "process.on('beforeExit', () => require('node:fs').writeSync(2, 'by itself'));");
  const ended = (...words: readonly string[]) => node('--require', tellEnd, BIN, ...words);

  it('comes at once when all is written', () => {
    expect(ended('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^vault /), stderr: '' });
  });

  it('waits for what is written to standard error', () => {
    const { status, stderr } = ended('--no-such-flag');
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^vault: .*by itself$/s)]);
  });

  it('waits for what a pipe does not hold at once', () => {
    const { status, stdout, stderr } = ended('openapi');
    expect(stdout.length).toBeGreaterThan(64 * 1024);
    expect([status, typeof JSON.parse(stdout), stderr]).toEqual([0, 'object', 'by itself']);
  });
});
