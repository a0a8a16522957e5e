import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';

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
