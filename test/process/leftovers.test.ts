import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { cleanEnvironment, runVault } from '../scripts/run-script.ts';
import { VAULT_BIN } from './cli-fixture.ts';

it('the next command with a temporary vault removes what a killed `serve --dev` left', {
  timeout: 60_000,
}, async () => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'vault-killed-'));
  try {
    const temporary = path.join(cwd, 'tmp');
    mkdirSync(temporary);
    const env = { TMPDIR: temporary, TEMP: temporary, TMP: temporary };
    const words = [VAULT_BIN, 'serve', '--dev', '--port', '0', '--ready-file', 'ready'];
    const child = spawn(process.execPath, words, { cwd, env: cleanEnvironment(env), stdio: 'ignore' });
    while (!existsSync(path.join(cwd, 'ready'))) await sleep(10);
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(readdirSync(temporary)).toEqual([expect.stringMatching(`^token-vault-dev-${child.pid}-`)]);
    const { exitCode, stdout } = await runVault(
      ['exec', '--', process.execPath, '-p', 'typeof process.env.VAULT_URL'],
      { cwd, env },
    );
    expect([exitCode, stdout]).toEqual([0, 'string\n']);
    expect(readdirSync(temporary)).toEqual([]);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});

const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

it.each(SIGNALS)('%s removes the file of an unfinished export', { timeout: 60_000 }, async (signal, code) => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'vault-interrupted-'));
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  try {
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const words = [VAULT_BIN, 'export', '--url', url, '--plaintext', '--out', 'tokens.ndjson'];
    const child = spawn(process.execPath, words, {
      cwd,
      env: cleanEnvironment({ VAULT_API_KEY: 'key_c6e3Pht9ohs1UcETNXAtRU9aos14Mgfo' }),
      stdio: 'ignore',
    });
    const ended = once(child, 'close');
    while (readdirSync(cwd).length === 0) await sleep(10);
    expect(readdirSync(cwd)).toEqual([expect.stringMatching(/^tokens\.ndjson\.[0-9a-f-]{36}\.tmp$/)]);
    child.kill(signal);
    // Windows has no such signals and kills the process.
    const windows = process.platform === 'win32';
    expect(await ended).toEqual(windows ? [null, signal] : [code, null]);
    expect(readdirSync(cwd)).toHaveLength(windows ? 1 : 0);
  } finally {
    silent.close();
    silent.closeAllConnections();
    rmSync(cwd, { recursive: true, force: true });
  }
});
