import { describe, expect, it } from 'vitest';
import { killAfterLink, killAndLink, LINK_CASES } from '../checks/kill-after-link.ts';
import { CHECK, killAtSteps } from '../checks/kill-steps.ts';
import { KILL_CASES } from '../checks/kill-steps-cases.ts';

/** A sample: check 27 kills each command at more steps. */
const KILLS = 3;

describe.each(KILL_CASES)('$what, killed at its steps', (one) => {
  it('leaves the old or the new state, and the next run completes', { timeout: 60_000 }, () => killAtSteps(one, KILLS));
});

describe.each(LINK_CASES)('$what, killed between link and unlink', (one) => {
  it('leaves a file that the next command opens', { timeout: 60_000 }, () => killAfterLink(one));

  it('control: a name that no command leaves is refused', { timeout: 60_000 }, async () => {
    await expect(killAndLink(one)).rejects.toThrow(/names of the same file|was moved away|is not empty/);
  });
});

it('control: a prune whose archive is lost is detected', { timeout: 60_000 }, async () => {
  await expect(CHECK.control({ seed: 1, quick: true })).rejects.toThrow('the lost rows of the audit');
});
