import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { VAULT_BIN } from './cli-fixture.ts';

const folder = temporaryFolder();

function run(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const options = { cwd: folder, env: cleanEnvironment(env), encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, words, options);
  return { exitCode: status, stdout, stderr };
}

describe('an uncaught error', () => {
  const wait = [VAULT_BIN, 'wait', '--url', 'http://127.0.0.1:1', '--timeout', '20s'];

  it.each([
    ['thrown by a timer', 'setTimeout(() => { throw new Error("4242424242424242"); }, 100)'],
    ['of a promise', 'setTimeout(() => void Promise.reject(new Error("4242424242424242")), 100)'],
  ])('%s: a command reports it and exits with 1', (_what, code) => {
    writeFileSync(path.join(folder, 'break.cjs'), code);
    const preload = ['--require', path.join(folder, 'break.cjs')];
    expect(run([...preload, ...wait])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'vault: unexpected error\nhint: set VAULT_DEBUG=1 to see where\n',
    });
    const debugged = run([...preload, ...wait], { VAULT_DEBUG: '1' });
    expect(debugged.stderr).toMatch(/^vault: unexpected error\nError: 4242424242424242\n\s+at .*break\.cjs/);
  });

  it('while the command loads: the same', () => {
    const code = `require('node:module').registerHooks({
      load(url, context, next) {
        if (url.includes('/dist/cli/')) throw new Error('4242424242424242');
        return next(url, context);
      },
    });`;
    writeFileSync(path.join(folder, 'break.cjs'), code);
    expect(run(['--require', path.join(folder, 'break.cjs'), VAULT_BIN, '--version'])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'vault: unexpected error\nhint: set VAULT_DEBUG=1 to see where\n',
    });
  });
});

describe('an imported module', () => {
  const file = (name: string) => pathToFileURL(path.join(ROOT, 'dist', name)).href;

  it.each([
    [
      'token-vault/testing',
      'testing/start-vault.js',
      'await (await startVault()).client.getToken({ params: { id: "none" } })',
    ],
    ['token-vault/client', 'client/create-client.js', 'createClient({ url: "ftp://x", apiKey: "k" })'],
    ['token-vault/client', 'client/create-client.js', 'createClient({ url: undefined, apiKey: "k" })'],
  ])('%s: Node shows a readable line of an uncaught error', (_name, module, statement) => {
    const name = /(\w+)\(/.exec(statement.replace('await (await ', ''))?.[1];
    writeFileSync(path.join(folder, 'program.mjs'), `import { ${name} } from '${file(module)}';\n${statement};\n`);
    const { exitCode, stderr } = run(['program.mjs']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/token_not_found|TypeError: (url|createClient: url) must/);
    expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThan(300);
  });
});
