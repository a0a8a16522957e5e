import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { makePlace } from './cli-fixture.ts';

it('the next command with a temporary vault removes what a killed `serve --dev` left', {
  timeout: 60_000,
}, async () => {
  const place = makePlace(onTestFinished);
  const temporary = place.inside('tmp');
  mkdirSync(temporary);
  const env = { TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  const { child, ended } = await place.serve(['--dev'], { env });
  child.kill('SIGKILL');
  await ended;
  expect(readdirSync(temporary)).toEqual([expect.stringMatching(`^token-vault-dev-${child.pid}-`)]);
  const ran = await place.process(['exec', '--', process.execPath, '-p', 'typeof process.env.VAULT_URL'], env);
  expect(ran).toMatchObject({ exitCode: 0, stdout: 'string\n' });
  expect(readdirSync(temporary)).toEqual([]);
});

const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

it.each(SIGNALS)('%s removes the file of an unfinished export', { timeout: 60_000 }, async (signal, code) => {
  const place = makePlace(onTestFinished);
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  onTestFinished(() => silent.close().closeAllConnections());
  await once(silent, 'listening');
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const env = { VAULT_API_KEY: 'key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo' };
  const child = place.start(`export --url ${url} --plaintext --out tokens.ndjson`, env);
  while (readdirSync(place.cwd).length === 0) await sleep(10);
  expect(readdirSync(place.cwd)).toEqual([expect.stringMatching(/^tokens\.ndjson\.[0-9a-f-]{36}\.tmp$/)]);
  child.kill(signal);
  // Windows has no such signals and kills the process.
  const windows = process.platform === 'win32';
  expect(await child.ended).toMatchObject({ exitCode: windows ? -1 : code });
  expect(readdirSync(place.cwd)).toHaveLength(windows ? 1 : 0);
});
