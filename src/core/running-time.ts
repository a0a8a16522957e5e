/**
 * Returns the milliseconds since this process started, with fractions, by a monotonic clock. `performance` reads the
 * same clock, but Node needs two milliseconds to load it.
 */
export const runningTime = (): number => process.uptime() * 1000;
