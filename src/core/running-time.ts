/**
 * Returns the milliseconds since this process started, with fractions, by a clock that nobody sets. `performance` has
 * the same clock, but Node needs two milliseconds to load it.
 */
export const runningTime = (): number => process.uptime() * 1000;
