import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { cleanEnvironment, runVault } from '../scripts/run-script.ts';
import { VAULT_BIN } from './cli-fixture.ts';

it('what a killed `serve --dev` has left is gone with the next such command', { timeout: 60_000 }, async () => {
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
      {
        cwd,
        env,
      },
    );
    expect([exitCode, stdout]).toEqual([0, 'string\n']);
    expect(readdirSync(temporary)).toEqual([]);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});
