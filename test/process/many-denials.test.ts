import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makePlace, send } from './cli-fixture.ts';

const place = makePlace();

it('a public key that is denied 500 times adds about a hundred entries to the audit', async () => {
  const managementKey = await place.init('v');
  const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: managementKey };
  const made = await place.vault('apps create --name web --type public --permission token:create --field key', env);
  const daemon = await place.serve(['--file', 'v.db']);
  const ask = async () => (await send(daemon.url, 'GET /tokens', made.stdout.trim())).status;
  for (let round = 0; round < 10; round += 1) {
    expect(new Set(await Promise.all(Array.from({ length: 50 }, ask)))).toEqual(new Set([403]));
  }
  expect(await daemon.stop()).toBe(0);

  const json = async (words: string) => JSON.parse((await place.vault(`audit ${words} -o json`, env)).stdout);
  const denied = (await place.vault('audit list --denied --all --field message', env)).stdout.trim().split('\n');
  const counts = denied.map((message) => Number(/ (\d+) times?:/.exec(message)?.[1] ?? 1));
  // A new minute may have begun. Then there are two counted entries and two hundred others.
  expect(denied.length).toBeLessThanOrEqual(202);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(500);
  const counted = counts.filter((count) => count > 1).reduce((sum, count) => sum + count, 0);
  expect(await json('verify')).toMatchObject({ ok: true, counted_denials: counted });
  await place.vault('audit export --out audit.ndjson', env);
  const lines = readFileSync(place.inside('audit.ndjson'), 'utf8').trim().split('\n');
  const exported = lines.map((line) => JSON.parse(line)).find(({ count }) => count !== undefined);
  const time = expect.stringMatching(/^\d{4}-/);
  expect(exported).toMatchObject({ action: 'listTokens', status: 403, first_at: time, last_at: time, entities: [] });
});
