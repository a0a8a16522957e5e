import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runVault, startServe } from '../scripts/run-script.ts';

/** Checks that a daemon and commands on one file see each other's changes from the next call on. */
describe('a daemon and the file target on one file', () => {
  let folder: string;
  let management: string;
  let daemon: Awaited<ReturnType<typeof startServe>>;

  const direct = async (key: string, ...words: string[]) => {
    const env = { VAULT_FILE: path.join(folder, 'v.db'), VAULT_API_KEY: key };
    const { stdout, stderr, exitCode } = await runVault([...words, '--output', 'json'], { cwd: folder, env });
    expect(exitCode, stderr).toBe(0);
    return stdout === '' ? undefined : JSON.parse(stdout);
  };
  const http = (key: string, route: string, init: object = {}) =>
    fetch(`${String(daemon.ready['url'])}${route}`, { ...init, headers: { 'svc-api-key': key } });

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'vault-targets-'));
    const made = await runVault('init --file v.db --key-file v.db.key -o json', { cwd: folder });
    management = JSON.parse(made.stdout).application.key;
    daemon = await startServe(folder, ['--file', 'v.db']);
  });

  afterAll(async () => {
    await daemon.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a key that another process regenerated fails from the next request on', async () => {
    const words = ['apps', 'create', '--name', 'a', '--type', 'private', '--permission', 'token:read'];
    const { id, key } = await direct(management, ...words);
    expect((await http(key, '/tokens')).status).toBe(200);
    const renewed = await direct(management, 'apps', 'regenerate', id, '--yes');
    expect((await http(key, '/tokens')).status).toBe(401);
    expect((await http(renewed.key, '/tokens')).status).toBe(200);
    const again = await http(management, `/applications/${id}/regenerate`, { method: 'POST' });
    const last = (await again.json()) as { key: string };
    const env = { VAULT_FILE: path.join(folder, 'v.db'), VAULT_API_KEY: renewed.key };
    expect((await runVault('tokens list', { cwd: folder, env })).exitCode).toBe(4);
    expect((await direct(last.key, 'tokens', 'list')).pagination.total_items).toBe(0);
  });

  it('a key that another process deleted fails from the next request on', async () => {
    const words = ['apps', 'create', '--name', 'a', '--type', 'private', '--permission', 'token:read'];
    const { id, key } = await direct(management, ...words);
    const added = await direct(management, 'apps', 'keys', 'create', id);
    for (const each of [key, added.key]) expect((await http(each, '/tokens')).status).toBe(200);
    await direct(management, 'apps', 'keys', 'delete', id, added.id, '--yes');
    expect((await http(added.key, '/tokens')).status).toBe(401);
    expect((await http(key, '/tokens')).status).toBe(200);
    const listed = (await (await http(management, `/applications/${id}/keys`)).json()) as { readonly id: string }[];
    const route = `/applications/${id}/keys/${listed[0]?.id}`;
    expect((await http(management, route, { method: 'DELETE' })).status).toBe(204);
    const env = { VAULT_FILE: path.join(folder, 'v.db'), VAULT_API_KEY: key };
    expect((await runVault('tokens list', { cwd: folder, env })).exitCode).toBe(4);
  });

  it('a token that one writes is read by the other at once, byte for byte', async () => {
    const permissions = ['token:create', 'token:read', 'token:delete'].flatMap((name) => ['--permission', name]);
    const words = ['apps', 'create', '--name', 'b', '--type', 'private', ...permissions];
    const { key } = await direct(management, ...words);
    const { id } = await direct(key, 'tokens', 'create', '--type', 'card_number', '--text', '4242424242424242');
    const answer = await http(key, `/tokens/${id}`);
    const env = { VAULT_FILE: path.join(folder, 'v.db'), VAULT_API_KEY: key };
    const { stdout } = await runVault(`tokens get ${id}`, { cwd: folder, env });
    expect(`${await answer.text()}\n`).toBe(stdout);
    expect((await http(key, `/tokens/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await runVault(`tokens get ${id}`, { cwd: folder, env })).exitCode).toBe(3);
  });
});
