/** Puts what is said of rows, in the order in which the answers come, back into the order of the rows. */
export interface RowOrder<T> {
  /** How many answers wait for that of an earlier row. */
  readonly waiting: number;
  /** The row at this place, from 0, has its answer; `said` is undefined when there is nothing to say of it. Resolves when all that can be said is. */
  answered(place: number, said: T | undefined): Promise<void>;
  /** No more answers come: says what waits for rows that have none. */
  finish(): Promise<void>;
}

/** `say` is called one after the other. */
export function createRowOrder<T>(say: (said: T) => Promise<void>): RowOrder<T> {
  const answers = new Map<number, T | undefined>();
  let next = 0;
  let saying = Promise.resolve();

  function take(place: number): void {
    const said = answers.get(place);
    answers.delete(place);
    if (said !== undefined) saying = saying.then(() => say(said));
  }

  return {
    get waiting() {
      return answers.size;
    },
    answered(place, said) {
      answers.set(place, said);
      for (; answers.has(next); next += 1) take(next);
      return saying;
    },
    finish() {
      for (const place of [...answers.keys()].sort((a, b) => a - b)) take(place);
      return saying;
    },
  };
}
