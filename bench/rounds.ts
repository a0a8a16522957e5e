import { median } from './figures.ts';

/**
 * Measures `rounds` rounds, after a warm-up round with the number -1. Resolves to the rounds without the warm-up, and to
 * `of`, which returns the median of a figure.
 */
export async function inRounds<Round>(rounds: number, measure: (round: number) => Promise<Round>) {
  const done: Round[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const figures = await measure(round);
    if (round >= 0) done.push(figures);
  }
  return { done, of: (figure: (round: Round) => number) => median(done.map(figure)) };
}

/** Makes two measurements: in this order in even rounds, and in the other order in odd ones. */
export async function inEitherOrder<A, B>(round: number, first: () => Promise<A>, second: () => Promise<B>) {
  if (round % 2 === 0) {
    const before = await first();
    return [before, await second()] as const;
  }
  const before = await second();
  return [await first(), before] as const;
}
