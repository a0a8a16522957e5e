import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os, { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Line } from '../../src/cli/flags/global-flags.ts';
import { isProfileName, type Profile, parseProfile } from '../../src/cli/profiles/profile.ts';
import { configFolder, openProfileStore, type ProfileStore } from '../../src/cli/profiles/profile-store.ts';
import { fillFromProfile, withProfile } from '../../src/cli/profiles/with-profile.ts';

const posix = process.platform !== 'win32';
const REMOTE: Profile = { url: 'http://p', header_prefix: 'ABC', ca_file: '/p.pem', api_key: 'key_p' };
const LOCAL: Profile = { file: '/p.db', key_file: '/p.key', api_key_file: '/p.api' };
const STORED: Profile = { store: 'postgres://vault@db.test/vault', key_file: '/p.key', api_key: 'key_p' };

let folder = '';
let store: ProfileStore;
beforeEach(async () => {
  folder = path.join(mkdtempSync(path.join(tmpdir(), 'vault-profiles-')), 'config');
  store = await openProfileStore({ VAULT_CONFIG_DIR: folder });
});
afterEach(() => rmSync(path.dirname(folder), { recursive: true, force: true }));

describe('the store of profiles', () => {
  it('stores profiles, closed to other users, and reads them back', async () => {
    await store.add('b', REMOTE);
    await store.add('a', LOCAL);
    expect(await store.list()).toEqual(['a', 'b']);
    expect([await store.read('a'), await store.read('b')]).toEqual([LOCAL, REMOTE]);
    expect(readdirSync(path.join(folder, 'profiles'))).toEqual(['a.json', 'b.json']);
    const modes = ['', 'profiles', 'profiles/a.json'].map((name) => statSync(path.join(folder, name)).mode & 0o777);
    if (posix) expect(modes).toEqual([0o700, 0o700, 0o600]);
  });

  it('never replaces a profile, even under concurrent adds', async () => {
    const added = await Promise.allSettled(['x', 'y', 'z'].map((key) => store.add('one', { ...REMOTE, api_key: key })));
    expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(store.add('one', LOCAL)).rejects.toMatchObject({
      code: 'file_exists',
      message: 'profile one already exists',
    });
    await expect(store.checkFree('one')).rejects.toMatchObject({ code: 'file_exists' });
    expect(readdirSync(path.join(folder, 'profiles'))).toEqual(['one.json']);
  });

  it('forgets the default when its profile is removed', async () => {
    await store.add('a', LOCAL);
    await store.add('b', LOCAL);
    expect(await store.defaultName()).toBeUndefined();
    await expect(store.setDefault('c')).rejects.toMatchObject({ message: 'there is no profile c' });
    await store.setDefault('a');
    await store.remove('b');
    expect(await store.defaultName()).toBe('a');
    await store.remove('a');
    expect([await store.defaultName(), await store.list()]).toEqual([undefined, []]);
    await expect(store.remove('a')).rejects.toMatchObject({ message: 'there is no profile a' });
  });

  it('is empty without a folder, and creates none for a read', async () => {
    expect([await store.list(), await store.defaultName()]).toEqual([[], undefined]);
    expect(existsSync(folder)).toBe(false);
  });

  it('rejects an invalid profile and one that others can read', async () => {
    mkdirSync(path.join(folder, 'profiles'), { recursive: true });
    writeFileSync(path.join(folder, 'profiles', 'bad.json'), '{"url":"http://p","api_kye":"key_p"}', { mode: 0o600 });
    await expect(store.read('bad')).rejects.toMatchObject({ code: 'usage', hint: 'vault profile remove bad' });
    await store.add('open', REMOTE);
    chmodSync(path.join(folder, 'profiles', 'open.json'), 0o644);
    if (posix) await expect(store.read('open')).rejects.toMatchObject({ code: 'file_unsafe' });
    else expect(await store.read('open')).toEqual(REMOTE);
  });

  it('creates nothing when it cannot create the folder', async () => {
    writeFileSync(folder, 'a file');
    await expect(store.add('a', LOCAL)).rejects.toMatchObject({ code: 'usage' });
    await expect(store.list()).rejects.toMatchObject({
      code: 'usage',
      hint: expect.stringContaining('VAULT_CONFIG_DIR'),
    });
  });

  it.each([
    ['linux', { VAULT_CONFIG_DIR: 'own' }, '/home/a', 'own'],
    ['linux', { VAULT_CONFIG_DIR: '', XDG_CONFIG_HOME: '/xdg' }, '/home/a', '/xdg/token-vault'],
    ['linux', { XDG_CONFIG_HOME: '/xdg' }, undefined, '/xdg/token-vault'],
    ['linux', { XDG_CONFIG_HOME: 'relative' }, '/home/a', '/home/a/.config/token-vault'],
    ['linux', {}, '/home/a', '/home/a/.config/token-vault'],
    ['linux', {}, undefined, undefined],
    ['darwin', { XDG_CONFIG_HOME: '/xdg' }, '/Users/a', '/Users/a/Library/Preferences/token-vault'],
    ['win32', { APPDATA: '/a/Roaming' }, '/Users/a', '/a/Roaming/token-vault/Config'],
    ['win32', {}, '/Users/a', '/Users/a/AppData/Roaming/token-vault/Config'],
  ] as const)('on %s with %o and the home %s is in %s', (system, env, home, found) => {
    expect(configFolder(env, system, () => home)?.replaceAll('\\', '/')).toBe(found);
  });
});

describe('a user without a home folder', () => {
  const none = () => openProfileStore({ XDG_CONFIG_HOME: '' });
  beforeEach(() => {
    vi.spyOn(os, 'homedir').mockImplementation(() => {
      throw Object.assign(new Error('uv_os_homedir returned ENOENT'), { code: 'ERR_SYSTEM_ERROR' });
    });
    syncBuiltinESMExports();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  it('has no profiles', async () => {
    expect(await (await none()).list()).toEqual([]);
    expect(await (await none()).defaultName()).toBeUndefined();
    await expect((await none()).read('a')).rejects.toMatchObject({ code: 'not_found' });
    await expect((await none()).remove('a')).rejects.toMatchObject({ code: 'not_found' });
    await expect((await none()).setDefault('a')).rejects.toMatchObject({ code: 'not_found' });
    const line = { flags: {}, env: { PATH: '/bin' } };
    expect(await withProfile(line)).toBe(line);
  });

  it('adds a profile only with VAULT_CONFIG_DIR', async () => {
    await expect((await none()).add('a', LOCAL)).rejects.toMatchObject({
      code: 'usage',
      hint: 'set VAULT_CONFIG_DIR to a folder of your own',
    });
    await store.add('a', LOCAL);
    expect(await store.list()).toEqual(['a']);
  });
});

describe('the name of a profile', () => {
  it.each(['a', 'prod', 'a.b_c-9', '0', 'console', 'x'.repeat(64)])('%s', (name) => {
    expect(isProfileName(name)).toBe(true);
  });

  it.each(['', 'A', '.a', '-a', 'a/b', '..', 'a b', 'con', 'nul.x', 'com1', 'x'.repeat(65), 'é', 'a\n'])(
    'is not %j',
    async (name) => {
      expect(isProfileName(name)).toBe(false);
      await expect(store.checkFree(name)).rejects.toMatchObject({ code: 'usage' });
      await expect(store.read(name)).rejects.toMatchObject({ code: 'usage' });
    },
  );
});

describe('parseProfile', () => {
  it.each([
    '',
    '[]',
    'null',
    '1',
    '{}',
    '{"url":1}',
    '{"url":"u","file":"f"}',
    '{"url":"u","x":"y"}',
    '{"file":"f","store":"s"}',
    '{"url":"u","store":"s"}',
    '{"api_key":"k"}',
  ])('rejects %s', (text) => {
    expect(parseProfile(text)).toBeUndefined();
  });
});

describe('fillFromProfile', () => {
  it.each([
    ['nothing is set: all of it', LOCAL, {}, {}, 'FILE KEY_FILE API_KEY_FILE'],
    ['nothing is set: all of it, of a daemon', REMOTE, {}, {}, 'URL HEADER_PREFIX CA_FILE API_KEY'],
    ['nothing is set: all of it, of a database', STORED, {}, {}, 'STORE KEY_FILE API_KEY'],
    ['a typed vault keeps its own key', LOCAL, { file: 'x' }, {}, 'API_KEY_FILE'],
    ['a typed database', STORED, { store: 's' }, {}, 'API_KEY'],
    ['a database in the environment', LOCAL, {}, { VAULT_STORE: 's' }, 'API_KEY_FILE'],
    ['a typed daemon', REMOTE, { url: 'u' }, {}, 'API_KEY'],
    ['a vault in the environment', LOCAL, {}, { VAULT_URL: 'u' }, 'API_KEY_FILE'],
    ['an API key in the environment', REMOTE, {}, { VAULT_API_KEY: 'k' }, 'URL HEADER_PREFIX CA_FILE'],
    ['the file of one', REMOTE, {}, { VAULT_API_KEY_FILE: 'f' }, 'URL HEADER_PREFIX CA_FILE'],
    ['certificates in the environment', REMOTE, {}, { VAULT_CA_FILE: 'c' }, 'URL HEADER_PREFIX API_KEY'],
    ['a passphrase in the environment', LOCAL, {}, { VAULT_PASSPHRASE_FILE: 'f' }, 'FILE API_KEY_FILE'],
    ['a command in the environment', LOCAL, {}, { VAULT_KEY_COMMAND: 'c' }, 'FILE API_KEY_FILE'],
    ['a prefix in the environment', REMOTE, {}, { VAULT_HEADER_PREFIX: 'X' }, 'URL CA_FILE API_KEY'],
    ['an empty variable is not set', LOCAL, {}, { VAULT_URL: '', VAULT_KEY_FILE: '' }, 'FILE KEY_FILE API_KEY_FILE'],
  ])('%s', (_what, profile, flags, env, names) => {
    const added = names.split(' ').map((name) => [`VAULT_${name}`, Reflect.get(profile, name.toLowerCase())]);
    expect(fillFromProfile(profile, { flags, env })).toEqual({ ...env, ...Object.fromEntries(added) });
  });
});

describe('withProfile', () => {
  beforeEach(async () => {
    await store.add('d', LOCAL);
    await store.add('e', REMOTE);
    await store.setDefault('d');
  });
  const config = () => ({ VAULT_CONFIG_DIR: folder });

  it.each([
    ['the default one', {}, {}, '/p.db', undefined],
    ['the default one is passed over for another vault', { url: 'u' }, {}, undefined, undefined],
    ['and for one in the environment', {}, { VAULT_URL: 'u' }, undefined, 'u'],
    ['a typed one', { profile: 'e' }, {}, undefined, 'http://p'],
    ['one in the environment', {}, { VAULT_PROFILE: 'e' }, undefined, 'http://p'],
    ['a typed one beats it', { profile: 'd' }, { VAULT_PROFILE: 'e' }, '/p.db', undefined],
    ['an empty name is none', { profile: '' }, {}, undefined, undefined],
    ['an empty variable leaves the default', {}, { VAULT_PROFILE: '' }, '/p.db', undefined],
  ])('%s', async (_what, flags, env, file, url) => {
    const { env: filled } = await withProfile<Line>({ flags, env: { ...config(), ...env } });
    expect([filled['VAULT_FILE'], filled['VAULT_URL']]).toEqual([file, url]);
  });
});
