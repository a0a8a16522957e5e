import { CheckFailure, type CheckOptions } from '../check.ts';
import { attackChildren, childrenCheck, ROUNDS } from '../children.ts';
import { startFleet } from './fleet.ts';

async function attack({ seed, quick }: CheckOptions, bin?: string) {
  await using fleet = await startFleet({ daemons: 2, bin });
  const { management, at } = fleet;
  const rounds = ROUNDS[quick ? 'quick' : 'full'];
  const figures = await attackChildren({ daemons: [at(0), at(1)], management, rounds, seed });
  const doctor = await fleet.cli('doctor');
  if (!doctor.startsWith('{"ok":true')) throw new CheckFailure(`doctor: ${doctor.slice(0, 300)}`, figures);
  return figures;
}

export const CHECK = childrenCheck(attack);
