import { describe, expect, it } from 'vitest';
import { namedCredential } from '../../src/cli/credential/read-credential.ts';
import { chooseFile, chooseLocation, chooseOwnLocation, chooseTarget } from '../../src/cli/flags/target.ts';
import { Fault } from '../../src/core/fault.ts';

const URL = 'http://127.0.0.1:1';
const remote = { url: URL };
const direct = { file: 'a.db' };
const STORE = 'postgres://vault@db.test/vault';
const store = { store: expect.objectContaining({ text: STORE }) };
const here = { file: './vault.db' };

describe('chooseTarget', () => {
  it.each([
    ['--url', { url: URL }, {}, false, remote],
    ['--file', { file: 'a.db' }, {}, false, direct],
    ['VAULT_URL', {}, { VAULT_URL: URL }, true, remote],
    ['VAULT_FILE', {}, { VAULT_FILE: 'a.db' }, true, direct],
    ['--url before VAULT_FILE', { url: URL }, { VAULT_FILE: 'a.db' }, true, remote],
    ['--file before VAULT_URL', { file: 'a.db' }, { VAULT_URL: URL }, true, direct],
    ['a flag before two variables', { file: 'a.db' }, { VAULT_URL: URL, VAULT_FILE: 'b.db' }, true, direct],
    ['an empty variable is none', {}, { VAULT_URL: '', VAULT_FILE: 'a.db' }, false, direct],
    ['./vault.db, if it exists', {}, {}, true, here],
    ['--store', { store: STORE }, { VAULT_FILE: 'a.db' }, true, store],
    ['VAULT_STORE', {}, { VAULT_STORE: STORE }, true, store],
    ['--file before VAULT_STORE', { file: 'a.db' }, { VAULT_STORE: STORE }, true, direct],
  ])('%s', (_what, flags, env, exists, target) => {
    expect(chooseTarget({ flags, env }, () => exists)).toEqual(target);
  });

  it.each([
    ['both variables', {}, { VAULT_URL: URL, VAULT_FILE: 'a.db' }, 'VAULT_URL and VAULT_FILE'],
    ['a file and a store', { file: 'a.db', store: STORE }, {}, '--file and --store'],
    ['all three flags', { url: URL, file: 'a.db', store: STORE }, {}, '--url and --file and --store'],
    ['variables of a daemon and a store', {}, { VAULT_URL: URL, VAULT_STORE: STORE }, 'VAULT_URL and VAULT_STORE'],
    ['an empty store', { store: '' }, {}, 'the URL of the store is malformed'],
    ['nothing', {}, {}, 'no vault selected'],
  ])('rejects %s', (_what, flags, env, message) => {
    const choose = () => chooseTarget({ flags, env }, () => false);
    expect(choose).toThrow(Fault);
    expect(choose).toThrow(message);
  });
});

describe('chooseFile', () => {
  it('ignores VAULT_URL when a file is named and rejects --url', () => {
    expect(chooseFile({ flags: {}, env: {} })).toBe('./vault.db');
    expect(chooseFile({ flags: {}, env: { VAULT_URL: '' } })).toBe('./vault.db');
    expect(chooseFile({ flags: {}, env: { VAULT_URL: URL, VAULT_FILE: 'a.db' } })).toBe('a.db');
    expect(chooseFile({ flags: { file: 'a.db' }, env: { VAULT_URL: URL } })).toBe('a.db');
    expect(() => chooseFile({ flags: { url: URL }, env: {} })).toThrow('does not accept --url');
  });

  it('does not default to ./vault.db when a daemon is named', () => {
    expect(() => chooseFile({ flags: {}, env: { VAULT_URL: URL } })).toThrow('VAULT_URL or the profile names a daemon');
    expect(chooseOwnLocation({ flags: {}, env: { VAULT_URL: URL } })).toEqual({ file: './vault.db' });
    expect(() => chooseOwnLocation({ flags: { url: URL }, env: {} })).toThrow('does not accept --url');
  });
});

describe('chooseLocation', () => {
  it('returns a named store', () => {
    const location = { store: expect.objectContaining({ text: STORE, insecure: false }) };
    expect(chooseLocation({ flags: { store: STORE }, env: { VAULT_FILE: 'a.db' } })).toEqual(location);
    expect(chooseLocation({ flags: {}, env: { VAULT_STORE: STORE, VAULT_URL: URL } })).toEqual(location);
    expect(chooseLocation({ flags: { file: 'a.db' }, env: { VAULT_STORE: STORE } })).toEqual({ file: 'a.db' });
  });

  it('allows a store without TLS only with a flag or a variable', () => {
    const store = `${STORE}?sslmode=disable`;
    expect(() => chooseLocation({ flags: { store }, env: {} })).toThrow('sends everything in clear');
    expect(chooseLocation({ flags: { store }, env: { VAULT_INSECURE_STORE: '1' } })).toMatchObject({
      store: { insecure: true },
    });
    expect(chooseLocation({ flags: { store, insecureStore: true }, env: {} })).toMatchObject({
      store: { insecure: true },
    });
  });
});

describe('namedCredential', () => {
  it.each([
    ['a flag beats the environment', { keyFile: 'k' }, { VAULT_PASSPHRASE_FILE: 'p' }, { keyFile: 'k' }],
    ['the environment', {}, { VAULT_PASSPHRASE_FILE: 'p' }, { passphraseFile: 'p' }],
    ['a command', { keyCommand: 'c' }, { VAULT_KEY_COMMAND: 'd', VAULT_KEY_FILE: 'k' }, { keyCommand: 'c' }],
    ['nothing', {}, {}, {}],
  ])('%s', (_what, flags, env, named) => {
    expect(namedCredential({ flags, env })).toEqual(named);
  });
});
