import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { startServe } from '../scripts/run-script.ts';
import { makePlace } from './cli-fixture.ts';

const place = makePlace();
let management = '';
beforeAll(async () => {
  management = await place.init('v');
});

it('a key that another process regenerated or deleted fails from the next request on', async () => {
  const { url, stop } = await startServe(place.cwd, ['--file', 'v.db', '--no-log']);
  onTestFinished(async () => void (await stop()));
  const direct = (line: string, key = management) => place.vault(line, { VAULT_FILE: 'v.db', VAULT_API_KEY: key });
  const http = (key: string, route = '/tokens', method = 'GET') =>
    fetch(url + route, { method, headers: { 'svc-api-key': key } });
  const made = await direct('apps create --name a --type private --permission token:read');
  const { id, key } = JSON.parse(made.stdout);
  const added = JSON.parse((await direct(`apps keys create ${id}`)).stdout);
  for (const each of [key, added.key]) expect((await http(each)).status).toBe(200);
  await direct(`apps keys delete ${id} ${added.id} --yes`);
  expect([(await http(added.key)).status, (await http(key)).status]).toEqual([401, 200]);
  const renewed = (await direct(`apps regenerate ${id} --yes --field key`)).stdout.trim();
  expect((await http(key)).status).toBe(401);
  expect((await http(renewed)).status).toBe(200);
  const again = await http(management, `/applications/${id}/regenerate`, 'POST');
  const last = (await again.json()) as { readonly key: string };
  expect(await direct('tokens list', renewed)).toMatchObject({ exitCode: 4 });
  expect(await direct('tokens list', last.key)).toMatchObject({ exitCode: 0 });
});
