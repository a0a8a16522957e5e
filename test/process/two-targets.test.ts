import { expect, it, onTestFinished } from 'vitest';
import { makePlace, send } from './cli-fixture.ts';

it('a key that another process regenerated or deleted fails from the next request on', async () => {
  const place = makePlace(onTestFinished);
  const management = await place.init('v');
  const { url } = await place.serve(['--file', 'v.db']);
  const direct = (line: string, key = management) => place.vault(line, { VAULT_FILE: 'v.db', VAULT_API_KEY: key });
  const http = async (key: string) => (await send(url, 'GET /tokens', key)).status;
  const made = await direct('apps create --name a --type private --permission token:read');
  const { id, key } = JSON.parse(made.stdout);
  const added = JSON.parse((await direct(`apps keys create ${id}`)).stdout);
  for (const each of [key, added.key]) expect(await http(each)).toBe(200);
  await direct(`apps keys delete ${id} ${added.id} --yes`);
  expect([await http(added.key), await http(key)]).toEqual([401, 200]);
  const renewed = (await direct(`apps regenerate ${id} --yes --field key`)).stdout.trim();
  expect([await http(key), await http(renewed)]).toEqual([401, 200]);
  const { body: last } = await send(url, `POST /applications/${id}/regenerate`, management);
  expect(await direct('tokens list', renewed)).toMatchObject({ exitCode: 4 });
  expect(await direct('tokens list', last.key)).toMatchObject({ exitCode: 0 });
});
