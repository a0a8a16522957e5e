import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, initVault, runVault } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const BIN = fileURLToPath(new URL('../../dist/vault.cjs', import.meta.url));

const cwd = temporaryFolder();
let env: Record<string, string> = {};
beforeAll(async () => {
  env = { VAULT_FILE: 'vault.db', VAULT_API_KEY: (await initVault(cwd, 'vault')).key };
  for (const name of ['a', 'b']) {
    const words = ['apps', 'create', '--name', name, '--type', 'public', '--permission', 'token:create'];
    expect((await runVault(words, { cwd, env })).exitCode).toBe(0);
  }
});

/** Runs a command whose reader goes away: at once, or after the first line, as `head -1` does. */
function runWithoutReader(words: readonly string[], reads: boolean) {
  const child = spawn(process.execPath, [BIN, ...words], {
    cwd,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  let first = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  if (reads) {
    child.stdout.setEncoding('utf8').once('data', (text: string) => {
      first = text;
      child.stdout.destroy();
    });
  } else child.stdout.destroy();
  return new Promise<{ readonly exitCode: number | null; readonly stderr: string; readonly first: string }>((resolve) =>
    child.on('exit', (exitCode) => resolve({ exitCode, stderr, first })),
  );
}

describe('a reader that goes away', () => {
  it.each([
    ['a list in pages', ['apps', 'list', '--all', '--size', '1', '-q']],
    ['a list as an array', ['apps', 'list', '--all', '--size', '1']],
    ['one page', ['apps', 'list']],
    ['help', ['help']],
    ['a curl command', ['apps', 'list', '--curl']],
  ])('lets %s exit quietly with 0', async (_what, words) => {
    expect(await runWithoutReader(words, false)).toEqual({ exitCode: 0, stderr: '', first: '' });
  });

  it('gets the first line of a list before it goes', async () => {
    const { exitCode, stderr, first } = await runWithoutReader(['apps', 'list', '--all', '--size', '1', '-q'], true);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(first).toMatch(/^[0-9a-f-]{36}\n/);
  });

  it('does not change the exit code of a failure', async () => {
    const failed = await runWithoutReader(['apps', 'get', '00000000-0000-4000-8000-000000000000'], false);
    expect(failed).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('There is no application') });
  });
});
