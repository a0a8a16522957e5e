/**
 * Work in steps, which yields each promise that it must wait for. Up to the first promise it runs synchronously, so that
 * a tick of the event loop can answer many calls from one snapshot.
 */
export type Steps<T> = Generator<PromiseLike<unknown>, T, unknown>;

type Promised<T> = T | PromiseLike<T>;

export function isPromise<T>(value: Promised<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

/** Waits for a promise. Returns any other value at once. */
export function* settled<T>(value: Promised<T>): Steps<T> {
  // The cast is safe: `runSteps` passes the result of the promise that was yielded.
  return isPromise(value) ? ((yield value) as T) : value;
}

/** Work that is written as steps or as a promise. */
export type Made<T> = Promise<T> | Steps<T>;

export function stepsOf<T>(made: Made<T>): Steps<T> {
  return 'then' in made ? settled(made) : made;
}

/** Performs the steps, and returns their result; a promise if they must wait. */
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
