import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { makePlace, send } from './cli-fixture.ts';

describe('vault audit list --follow', () => {
  const { vault, init, application, start, serve } = makePlace();

  it.each(['file', 'daemon', 'holder'])(
    'prints entries as they arrive: %s',
    async (name) => {
      const management = await init(name);
      const key = await application(name, management, 'token:create,token:read');
      const target: Record<string, string> =
        name === 'daemon' ? { VAULT_URL: (await serve(['--file', `${name}.db`])).url } : { VAULT_FILE: `${name}.db` };
      const watch = { ...target, ...(name !== 'holder' && { VAULT_API_KEY: management }) };
      const child = start('audit list --follow --entity-type token', watch);
      const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await printed.next()).value ?? '{}') as Record<string, unknown>;
      const own = { ...target, VAULT_API_KEY: key };
      await vault('tokens create --type token --text a --id one', own);
      expect(await next()).toMatchObject({ operation: 'createToken', entity_id: 'one' });
      // These entries do not match the filter.
      await vault('tenant get', own);
      await vault('tokens get one', own);
      expect(await next()).toMatchObject({ operation: 'getToken', entity_id: 'one', revealed: true });
      child.kill('SIGINT');
      expect(await child.ended).toMatchObject({ exitCode: 130, stderr: '' });
    },
    60_000,
  );

  it('a waiting call does not delay the stop of the daemon', async () => {
    const management = await init('stopped');
    const { stop, url } = await serve(['--file', 'stopped.db']);
    const get = (query: string) => send(url, `GET /logs?${query}`, management);
    const waiting = get(`after=${(await get('size=1')).body.data[0].id}&wait=25`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const began = performance.now();
    const ended = stop();
    const reply = await waiting;
    expect([reply.status, reply.body]).toEqual([200, { pagination: { page_size: 20 }, data: [] }]);
    expect(await ended).toBe(0);
    expect(performance.now() - began).toBeLessThan(5_000);
  }, 60_000);

  it.each(['--wait 1 --after 1.1', '--start MS4xLjA'])('cannot be combined with %s', async (flag) => {
    const ran = await vault(`audit list --follow ${flag}`, { VAULT_FILE: 'x.db', VAULT_API_KEY: 'key' });
    expect(ran).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('only one of --follow and --') });
  });
});
