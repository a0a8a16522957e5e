import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { seededNumbers } from '../checks/perform.ts';
import { killRotations } from '../checks/rotation-load.ts';

const killsOf = (code: string) =>
  killRotations(() => spawn(process.execPath, ['-e', code]), { kills: 2, random: seededNumbers(1) });

it('kills rotations on the way', async () => {
  expect(await killsOf('setTimeout(() => 0, 500)')).toBe(2);
});

it('does not count the kills of rotations that fail', async () => {
  await expect(killsOf('process.exitCode = 3')).rejects.toThrow('ended with 3');
});
