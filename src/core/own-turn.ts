let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller gets. Long work calls it before each step of some milliseconds:
 * other requests then wait for one step only, however many callers there are.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}

/** Milliseconds of work in one turn. */
const PACE_MS = 5;

/** Returns a function for each step of long work: returns a promise of a turn of its own when this one took long. */
export function createPace(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < PACE_MS) return undefined;
    return ownTurn().then(() => {
      since = performance.now();
    });
  };
}
