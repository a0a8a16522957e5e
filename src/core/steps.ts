/**
 * Steps of work: a generator that yields each promise that it must wait for. It runs synchronously up to its first
 * promise, so a tick of the event loop can answer many calls from one snapshot.
 */
export type Steps<T> = Generator<PromiseLike<unknown>, T, unknown>;

type Promised<T> = T | PromiseLike<T>;

/** Returns whether a value is a promise. */
export function isPromise<T>(value: Promised<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

/** Waits for a promise. Returns any other value at once. A step that needs no result yields the promise itself. */
export function* settled<T>(value: Promised<T>): Steps<T> {
  // The cast is safe: `runSteps` passes the result of the promise that was yielded.
  return isPromise(value) ? ((yield value) as T) : value;
}

/** Work that is written as steps or as a promise. */
export type StepsOrPromise<T> = Promise<T> | Steps<T>;

/** Returns the steps of work that is written in either way. */
export function stepsOf<T>(work: StepsOrPromise<T>): Steps<T> {
  return 'then' in work ? settled(work) : work;
}

/** Runs the steps. Returns their result, or its promise if the steps must wait. */
export function runSteps<T>(steps: Steps<T>): T | Promise<T> {
  const { done, value } = steps.next();
  return done ? value : goOn(steps, value);
}

async function goOn<T>(steps: Steps<T>, first: PromiseLike<unknown>): Promise<T> {
  let waiting = first;
  for (;;) {
    let resume: () => IteratorResult<PromiseLike<unknown>, T>;
    try {
      const result = await waiting;
      resume = () => steps.next(result);
    } catch (error) {
      resume = () => steps.throw(error);
    }
    const { done, value } = resume();
    if (done) return value;
    waiting = value;
  }
}
