import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cleanEnvironment, startServe } from '../scripts/run-script.ts';
import { endOf, makePlace, VAULT_BIN } from './cli-fixture.ts';

const LIMIT_MS = 20_000;

function start(cwd: string, words: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [VAULT_BIN, ...words], {
    cwd,
    env: { ...cleanEnvironment(), VAULT_CONFIG_DIR: path.join(cwd, 'config'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

describe('vault audit list --follow', () => {
  const { cwd, vault, init, application } = makePlace();

  async function serve(name: string) {
    const served = await startServe(cwd, ['--file', `${name}.db`, '--no-log']);
    onTestFinished(() => void served.stop());
    return served;
  }

  it.each(['file', 'daemon', 'holder'])(
    'prints entries as they arrive: %s',
    async (name) => {
      const management = await init(name);
      const key = await application(name, management, 'token:create,token:read');
      const target: Record<string, string> =
        name === 'daemon' ? { VAULT_URL: (await serve(name)).url } : { VAULT_FILE: `${name}.db` };
      const watch = { ...target, ...(name !== 'holder' && { VAULT_API_KEY: management }) };
      const child = start(cwd, ['audit', 'list', '--follow', '--entity-type', 'token'], watch);
      const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await printed.next()).value ?? '{}') as Record<string, unknown>;
      const own = { ...target, VAULT_API_KEY: key };
      await vault('tokens create --type token --text a --id one', own);
      expect(await next()).toMatchObject({ operation: 'createToken', entity_id: 'one' });
      // These entries do not match the filter.
      await vault('tenant get', own);
      await vault('tokens get one', own);
      expect(await next()).toMatchObject({ operation: 'getToken', entity_id: 'one', revealed: true });
      const ended = endOf(child, LIMIT_MS);
      child.kill('SIGINT');
      expect(await ended).toMatchObject({ exitCode: 130, stderr: '' });
    },
    60_000,
  );

  it('a waiting call does not delay the stop of the daemon', async () => {
    const management = await init('stopped');
    const { stop, url } = await serve('stopped');
    const get = (query: string) => fetch(`${url}/logs?${query}`, { headers: { 'SVC-API-KEY': management } });
    const { data } = (await (await get('size=1')).json()) as { readonly data: readonly { readonly id: string }[] };
    const waiting = get(`after=${data[0]?.id}&wait=25`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const began = performance.now();
    const ended = stop();
    const reply = await waiting;
    expect([reply.status, await reply.json()]).toEqual([200, { pagination: { page_size: 20 }, data: [] }]);
    expect(await ended).toBe(0);
    expect(performance.now() - began).toBeLessThan(5_000);
  }, 60_000);

  it.each(['--wait 1 --after 1.1', '--start MS4xLjA'])('cannot be combined with %s', async (flag) => {
    const ran = await vault(`audit list --follow ${flag}`, { VAULT_FILE: 'x.db', VAULT_API_KEY: 'key' });
    expect(ran).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('only one of --follow and --') });
  });
});
