import { spawnSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';
import { copyProduct } from '../checks/patched-product.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const BIN = path.join(ROOT, 'dist/vault.cjs');

const folder = temporaryFolder();
const tellModules = path.join(folder, 'tell-modules.cjs');
writeFileSync(
  tellModules,
  "process.on('exit', () => require('node:fs').writeSync(2, JSON.stringify(process.moduleLoadList)));",
);

const variables: Record<string, string> = { NODE_OPTIONS: '', HOME: folder, XDG_CONFIG_HOME: folder };

function node(...args: readonly string[]) {
  const env = { ...process.env, ...variables };
  return spawnSync(process.execPath, args, { encoding: 'utf8', env });
}

/** Returns the modules of Node that a program has loaded at its end. */
const modulesOf = (...args: readonly string[]): readonly string[] =>
  JSON.parse(node('--require', tellModules, ...args).stderr);

/** Returns the slow ones of these modules. */
function heavyModules(...args: readonly string[]): readonly string[] {
  const names = modulesOf(...args);
  const heavy = ['child_process', 'crypto', 'fs/promises', 'http', 'net', 'perf_hooks', 'tty'];
  return heavy.filter((name) => names.includes(`NativeModule ${name}`));
}

describe('a start', () => {
  it.each(['--help', '--version'])('vault %s loads none of the heavy modules of Node', (flag) => {
    expect(heavyModules(BIN, flag)).toEqual([]);
  });

  it.each(['--help', '--version'])('vault %s loads no promises of node:fs', (flag) => {
    expect(modulesOf(BIN, flag)).not.toContain('NativeModule internal/fs/promises');
    expect(modulesOf('-e', "require('node:fs').promises")).toContain('NativeModule internal/fs/promises');
  });

  it('tokens get on the file loads only the heavy module that libsodium needs', () => {
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
    expect(heavyModules(BIN, 'tokens', 'get', id)).toEqual(['crypto']);
  });

  it('control: a heavy module is detected', () => {
    expect(heavyModules('-e', 'process.stdout; performance.now(); require("node:crypto")')).toEqual(
      expect.arrayContaining(['crypto', 'net', 'perf_hooks']),
    );
  });
});

describe('the folder of compiled code', () => {
  const { folder: product, bin, remove } = copyProduct();
  const cache = path.join(product, 'dist/cache');
  afterAll(remove);

  it.runIf(process.platform !== 'win32')('is closed to other users, whatever the umask', () => {
    rmSync(cache, { recursive: true, force: true });
    const command = `umask 0; unset HOME; exec "${process.execPath}" "${bin}" --version`;
    const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(statSync(cache).mode & 0o777).toBe(0o700);
  });
});

describe('the exit of a command', () => {
  const tellEnd = path.join(folder, 'tell-end.cjs');
  writeFileSync(tellEnd, "process.on('beforeExit', () => require('node:fs').writeSync(2, 'by itself'));");
  const ended = (...words: readonly string[]) => node('--require', tellEnd, BIN, ...words);

  it('is immediate when all output is written', () => {
    expect(ended('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^vault /), stderr: '' });
  });

  it('waits for standard error', () => {
    const { status, stderr } = ended('--no-such-flag');
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^vault: .*by itself$/s)]);
  });

  it('waits for output that exceeds the buffer of a pipe', () => {
    const { status, stdout, stderr } = ended('openapi');
    expect(stdout.length).toBeGreaterThan(64 * 1024);
    expect([status, typeof JSON.parse(stdout), stderr]).toEqual([0, 'object', 'by itself']);
  });
});
