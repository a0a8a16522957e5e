import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { makePlace, VAULT_BIN } from './cli-fixture.ts';

const place = makePlace();
let key = '';
beforeAll(async () => {
  key = await place.init('v');
});

/** Runs a command and closes its stderr before it can write. */
async function withoutReader(
  words: readonly string[],
): Promise<{ readonly exitCode: number; readonly stdout: string }> {
  const child = spawn(process.execPath, [VAULT_BIN, ...words], {
    cwd: place.cwd,
    env: cleanEnvironment({ VAULT_FILE: 'v.db', VAULT_API_KEY: key, VAULT_CONFIG_DIR: place.inside('config') }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.destroy();
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  const [exitCode] = await once(child, 'close');
  return { exitCode, stdout };
}

describe('a command whose stderr is closed keeps its exit code', () => {
  it.each<readonly [readonly string[], number]>([
    [['tokens', 'create'], 2],
    [['tokens', 'list', '--no-such-flag'], 2],
    [['apps', 'get', '69cbfda3-79e9-4f58-b25f-6f68bd505227'], 3],
    [['tokens', 'list'], 5],
    [['apps', 'list', '-o', 'table'], 0],
  ])('vault %j ends with %i', async (words, exitCode) => {
    expect((await withoutReader(words)).exitCode).toBe(exitCode);
  });
});

it('a daemon keeps running when its log is closed', async () => {
  const child = spawn(process.execPath, [VAULT_BIN, 'serve', '--file', 'v.db', '--port', '0', '--log'], {
    cwd: place.cwd,
    env: cleanEnvironment({}),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  try {
    const [line] = await once(child.stderr, 'data');
    const url = /http:\S+/.exec(String(line))?.[0] ?? '';
    child.stderr.destroy();
    for (let i = 0; i < 3; i += 1) expect((await fetch(`${url}/livez`)).status).toBe(200);
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toEqual(process.platform === 'win32' ? [null, 'SIGTERM'] : [0, null]);
});

it('a --dev daemon that cannot print its keys exits', async () => {
  const child = spawn(process.execPath, [VAULT_BIN, 'serve', '--dev', '--port', '0'], {
    cwd: place.cwd,
    env: cleanEnvironment({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  child.stderr.resume();
  const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
  expect(await once(child, 'exit')).toEqual([0, null]);
  clearTimeout(late);
});
