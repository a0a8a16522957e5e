import type { Instant } from '../../core/ports.ts';
import { clearInterval, runningTime, setInterval } from '../../core/timers.ts';

const INTERVAL_MS = 1000;
/** The number of kept samples. The one with the shortest round trip counts. */
const SAMPLES = 8;
/** The number of samples at the start. A busy machine may delay one by more than the time between two calls. */
const FIRST_SAMPLES = 3;
/** A difference between two samples, beyond their round trips, after which only the later one counts. */
const MAX_DRIFT_MS = 1000;

/** The time of the database, which all daemons share to within half a round trip. */
export interface DatabaseClock {
  now(): Instant;
  /** Returns the age of the last sample in milliseconds. */
  age(): number;
  stop(): void;
}

/**
 * Takes some samples from `read`, then one each second. Skips a failed one, so the age grows.
 * `running` is a monotonic clock in milliseconds.
 */
export async function startDatabaseClock(
  read: () => Promise<Instant>,
  running: () => number = runningTime,
): Promise<DatabaseClock> {
  let samples: readonly { readonly trip: number; readonly offset: number }[] = [];
  let offset = 0;
  let sampledAt = 0;
  let isAsking = false;

  async function sample(): Promise<void> {
    const sent = running();
    const answer = await read();
    sampledAt = running();
    const last = { trip: sampledAt - sent, offset: answer - (sent + sampledAt) / 2 };
    // Drop the samples from before the database's clock was set.
    const agree = samples.filter(
      ({ trip, offset: other }) => Math.abs(other - last.offset) <= (trip + last.trip) / 2 + MAX_DRIFT_MS,
    );
    samples = [...agree, last].slice(-SAMPLES);
    ({ offset } = samples.reduce((best, each) => (each.trip < best.trip ? each : best)));
  }

  for (let n = 0; n < FIRST_SAMPLES; n += 1) await sample();
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
