/** The maximum time of one turn of the event loop during long work on a busy machine, in milliseconds. */
const MAX_TURN_MS = 250;

/**
 * Runs long work. Resolves to the number of turns of the event loop during the work, and to the number that the work
 * needs if a turn takes at most `MAX_TURN_MS`.
 */
export async function turnsDuring(work: () => Promise<unknown>): Promise<{ turns: number; needed: number }> {
  let turns = 1;
  const count = () => {
    turns += 1;
    handle = setImmediate(count);
  };
  let handle = setImmediate(count);
  const before = process.cpuUsage();
  await work();
  clearImmediate(handle);
  // Processor time, because on a busy machine a turn waits for other processes.
  const { user, system } = process.cpuUsage(before);
  return { turns, needed: (user + system) / 1000 / MAX_TURN_MS };
}
