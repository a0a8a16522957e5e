import type { Instant } from '../core/ports.ts';

const INTERVAL_MS = 1000;
/** The number of kept samples. The one with the shortest round trip counts. */
const SAMPLES = 8;

/** The time of the database, which all daemons share to within half a round trip. */
export interface DatabaseClock {
  now(): Instant;
  /** Returns the age of the last sample in milliseconds. */
  age(): number;
  stop(): void;
}

/**
 * Takes a sample each second from `read`; resolves after the first one. Skips a failed sample, so the age grows.
 * `running` is a monotonic clock in milliseconds.
 */
export async function startDatabaseClock(
  read: () => Promise<Instant>,
  running: () => number = () => performance.now(),
): Promise<DatabaseClock> {
  const samples: { readonly trip: number; readonly offset: number }[] = [];
  let offset = 0;
  let sampledAt = 0;
  let isAsking = false;

  async function sample(): Promise<void> {
    const sent = running();
    const answer = await read();
    sampledAt = running();
    samples.push({ trip: sampledAt - sent, offset: answer - (sent + sampledAt) / 2 });
    if (samples.length > SAMPLES) samples.shift();
    ({ offset } = samples.reduce((best, each) => (each.trip < best.trip ? each : best)));
  }

  await sample();
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    sample()
      .catch(() => undefined)
      .finally(() => {
        isAsking = false;
      });
  }, INTERVAL_MS);
  timer.unref();

  return {
    now: () => Math.floor(running() + offset),
    age: () => running() - sampledAt,
    stop: () => clearInterval(timer),
  };
}
