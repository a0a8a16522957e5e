import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** The range of times to kill a rotation at, as parts of the time of a whole rotation, which differs by machine. */
const KILL_AT = [0.3, 0.9] as const;
/** The maximum number of rotations to start for each kill, because some end before. */
const MAX_STARTS = 5;

/**
 * Starts rotations and kills them before they end. Resolves to the number of killed rotations. Rejects if the first
 * one, which nothing kills, fails: later ones would be killed before they do anything.
 */
export async function killRotations(
  rotate: (...flags: readonly string[]) => ChildProcess,
  { kills, random }: { readonly kills: number; readonly random: () => number },
): Promise<number> {
  const started = performance.now();
  const [code] = await once(rotate(), 'exit');
  if (code !== 0) throw new Error(`the rotation that measures the time ended with ${code}`);
  const wholeMs = performance.now() - started;
  const [least, most] = KILL_AT;
  let killed = 0;
  for (let run = 0; killed < kills && run < MAX_STARTS * kills; run += 1) {
    const child = rotate(...(run % 2 === 0 ? [] : ['--indexes']), ...(run % 5 === 2 ? ['--master'] : []));
    const ended = once(child, 'exit');
    await Promise.race([sleep(wholeMs * (least + random() * (most - least))), ended]);
    child.kill('SIGKILL');
    await ended;
    if (child.signalCode === 'SIGKILL') killed += 1;
  }
  return killed;
}
