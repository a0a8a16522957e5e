import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { limitLine } from '../../bench/figures.ts';
import { ROOT } from '../../scripts/build-output.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const folder = temporaryFolder();

const SMALL = ['--only', '404', '--rounds', '1', '--seconds', '0.02', '--tokens', '40'];

function bench(...args: readonly string[]) {
  const script = path.join(ROOT, 'bench', 'bench.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

function baseline(name: string, ratio: number): string {
  const file = path.join(folder, name);
  writeFileSync(file, JSON.stringify({ bench: 'http', case: '404', ratio, better: 'higher' }));
  return file;
}

describe('npm run bench', () => {
  it('compare exits with 1 when a ratio falls by more than the limit', () => {
    const [before, after] = [baseline('before.json', 1), baseline('after.json', 0.5)];
    expect(bench('compare', before, after)).toMatchObject({ status: 1, stderr: '' });
    expect(bench('compare', before, after, '--limit', '60')).toMatchObject({ status: 0, stderr: '' });
    const { status, stdout } = bench('compare', after, before, '--json');
    expect({ status, row: JSON.parse(stdout) }).toEqual({
      status: 0,
      row: { case: 'http/404', figure: 'ratio', before: 0.5, after: 1, change: '+100 %', verdict: 'ok' },
    });
  });

  it('quick fails against an unreachable baseline, and passes a very low one', () => {
    const quick = (ratio: number) => bench('quick', ...SMALL, '--baseline', baseline('quick.json', ratio));
    // The daemon does more than the bare server, so it cannot be four times as fast.
    const failed = quick(4);
    expect(failed).toMatchObject({ status: 1, stderr: '' });
    expect(failed.stdout).toMatch(/measured twice: http\/404[\s\S]*\nhttp\/404 +ratio +4 .* fell\n/);
    const passed = quick(0.001);
    expect(passed).toMatchObject({ status: 0, stderr: '' });
    expect(passed.stdout).toMatch(/\nhttp\/404 +ratio +0\.001 .* ok\n/);
  }, 120_000);

  it('reports a figure above its limit as missed', () => {
    const judged = [74.9, 75, 75.1].map((value) => limitLine('b', 'c', 'us', { value, target: 75 }));
    expect(judged.map(({ reached }) => reached)).toEqual([true, true, false]);
  });

  it.each([
    [['nothing'], 'unknown case nothing'],
    [['http', '--only', 'nothing'], 'unknown case nothing'],
    [['http', '--rounds', '0'], 'give --rounds a whole number above 0'],
    [['http', '--rounds', '1.5'], 'give --rounds a whole number above 0'],
    [['compare', 'a.json'], 'compare takes two files'],
    [['--nothing'], "Unknown option '--nothing'"],
  ])('%j is a mistake', (args, message) => {
    const { status, stdout, stderr } = bench(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`bench: ${message}`);
  });
});
