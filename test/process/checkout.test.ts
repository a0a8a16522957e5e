import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The scripts that README and SECURITY.md name. */
const SCRIPTS = ['bench/bench.ts', 'scripts/check.ts', 'scripts/stolen-file.ts'];

describe.each(SCRIPTS)('%s', (script) => {
  const { name } = path.parse(script);

  function run(flag: string) {
    const file = path.join(ROOT, script);
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, flag], { encoding: 'utf8' });
    return { status, stdout, stderr };
  }

  it('--help prints its flags, and does nothing', () => {
    expect(run('--help')).toEqual({ status: 0, stdout: expect.stringMatching(/^usage: .*--/), stderr: '' });
  });

  it('an unknown flag prints one line and the usage, not a stack trace', () => {
    const { status, stdout, stderr } = run('--no-such-flag');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^${name}: Unknown option '--no-such-flag'.*\nusage: `));
    expect(stderr).not.toContain('    at ');
  });
});

/** Runs a script of the checkout in a copy that has neither dist/ nor these development packages. */
function runBare(script: string, packages: readonly string[] = []) {
  const folder = temporaryFolder(onTestFinished);
  for (const name of ['bin', 'package.json', 'scripts/require-tools.ts']) {
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  }
  for (const name of packages) mkdirSync(path.join(folder, 'node_modules', name), { recursive: true });
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(folder, script)], { encoding: 'utf8' });
  return { status, stdout, stderr, made: existsSync(path.join(folder, 'dist')) };
}

it('the command names the build that is missing, and makes no folder that only its user may read', () => {
  const stderr = 'vault: dist/ is missing\nhint: run `npm run build` in the checkout\n';
  expect(runBare('bin/vault.ts')).toMatchObject({ status: 1, stdout: '', stderr, made: false });
});

it('the build names the development packages that are missing', () => {
  const { status, stderr } = runBare('scripts/require-tools.ts', ['ajv']);
  expect(status).toBe(1);
  expect(stderr).toMatch(/these are missing: esbuild, typescript\nhint: run `npm ci --include=dev`.*\n$/);
});

it('control: the build reports nothing when they are installed', () => {
  const all = ['ajv', 'esbuild', 'typescript'];
  expect(runBare('scripts/require-tools.ts', all)).toMatchObject({ status: 0, stderr: '' });
});
