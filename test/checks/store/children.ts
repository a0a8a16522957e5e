import type { Check, CheckOptions } from '../check.ts';
import { CheckFailure } from '../check.ts';
import { KEEP_CHILDREN, ROUNDS } from '../children.ts';
import { attackChildren } from '../children-attack.ts';
import { withPatch } from '../patched-product.ts';
import { type FleetOptions, startFleet } from './fleet.ts';

async function attack({ seed, quick }: CheckOptions, options: Omit<FleetOptions, 'daemons'> = {}) {
  await using fleet = await startFleet({ daemons: 2, ...options });
  const { management, at } = fleet;
  const rounds = ROUNDS[quick ? 'quick' : 'full'];
  const figures = await attackChildren({ daemons: [at(0), at(1)], management, rounds, seed });
  const doctor = await fleet.cli('doctor');
  if (!doctor.startsWith('{"ok":true')) throw new CheckFailure(`doctor: ${doctor.slice(0, 300)}`, figures);
  return figures;
}

export const CHECK: Check = {
  number: 34,
  name: 'children of a stolen key',
  quick: true,
  run: (options) => attack(options),
  /** Runs a product that keeps the children of a replaced key. */
  control: (options) => withPatch(KEEP_CHILDREN, (bin) => attack(options, { bin })),
};
