import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { makePlace } from './cli-fixture.ts';

const place = makePlace();
let key = '';
beforeAll(async () => {
  key = await place.init('v');
  const line = 'apps create --name a --type public --permission token:create';
  for (let n = 0; n < 2; n += 1) await place.vault(line, { VAULT_FILE: 'v.db', VAULT_API_KEY: key });
});

const start = (line: string) => place.start(line, { VAULT_FILE: 'v.db', VAULT_API_KEY: key });

describe('a command whose output nobody reads', () => {
  it.each([
    ['apps list --all --size 1 -q', 0, ''],
    ['apps list --all --size 1', 0, ''],
    ['apps list', 0, ''],
    ['apps list --curl', 0, ''],
    ['help', 0, ''],
    ['init --file x.db', 0, expect.stringMatching(/^vault: x.db.key is in the vault's folder/)],
    ['apps get 00000000-0000-4000-8000-000000000000', 3, expect.stringContaining('There is no application')],
  ])('%s: ends with %i', async (line, exitCode, stderr) => {
    const child = start(line);
    child.stdout.destroy();
    expect(await child.ended).toMatchObject({ exitCode, stderr });
  });

  it('prints the first line of a list before its reader goes', async () => {
    const child = start('apps list --all --size 1 -q');
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await child.ended).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringMatching(/^[0-9a-f-]{36}\n/),
    });
  });
});

describe('a command whose stderr is closed keeps its exit code', () => {
  it.each([
    ['tokens create', 2],
    ['tokens list --no-such-flag', 2],
    ['apps get 69cbfda3-79e9-4f58-b25f-6f68bd505227', 3],
    ['tokens list', 5],
    ['apps list -o table', 0],
  ])('vault %s ends with %i', async (line, exitCode) => {
    const child = start(line);
    child.stderr.destroy();
    expect(await child.ended).toMatchObject({ exitCode });
  });
});

it('a daemon keeps running when its log is closed', async () => {
  const child = start('serve --port 0 --log');
  const [line] = await once(child.stderr, 'data');
  const url = /http:\S+/.exec(String(line))?.[0] ?? '';
  child.stderr.destroy();
  for (let i = 0; i < 3; i += 1) expect((await fetch(`${url}/livez`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await child.ended).toMatchObject({ exitCode: process.platform === 'win32' ? -1 : 0 });
});

it('a --dev daemon that cannot print its keys exits', async () => {
  const child = place.start('serve --dev --port 0');
  child.stdout.destroy();
  expect(await child.ended).toMatchObject({ exitCode: 0 });
});
