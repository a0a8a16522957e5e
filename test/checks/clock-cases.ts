export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Token lifetimes in milliseconds from the start of the case. Each case adds a token without an expiry. */
export const LIFETIMES = {
  half_hour: HOUR / 2,
  two_hours: 2 * HOUR,
  two_days: 2 * DAY,
  year: YEAR,
  twenty_years: 20 * YEAR,
} as const;

interface ClockStep {
  /** Sets the wall clock to this many milliseconds after the start. */
  readonly set?: number;
  /** Then lets the machine sleep for this many milliseconds. */
  readonly sleep?: number;
  /** Then lets this many milliseconds pass. The sweeper runs every minute. */
  readonly pass?: number;
  /** False disables the sweeper during `pass`. */
  readonly sweeping?: boolean;
  /** Then closes the vault and opens it in a process without earlier state. */
  readonly restart?: boolean;
  /**
   * First closes the vault as a command does, sets the wall clock to this many milliseconds after the start, and opens
   * the vault in a new process.
   */
  readonly start?: number;
  /** Whether the vault and doctor must then report that the clock is in doubt. */
  readonly doubted?: boolean;
  /** The time that a new record must then have, in milliseconds after the start. Default: not compared. */
  readonly now?: number;
  /** Tokens up to this lifetime must be hidden afterwards. Longer ones must be visible. */
  readonly gone: number;
  /** Tokens up to this lifetime must be deleted from the file. Longer ones must remain. */
  readonly purged: number;
}

export interface ClockCase {
  readonly name: string;
  /** The wall clock when the tokens are created, in milliseconds. */
  readonly start: number;
  readonly steps: readonly ClockStep[];
}

const START = Date.UTC(2031, 4, 6, 7, 8, 9);

const from = (name: string, ...steps: readonly ClockStep[]): ClockCase => ({ name, start: START, steps });

/** Advances time without a jump: a token is hidden as soon as it expires and purged by the next sweep. */
const ordinary = (name: string, start: number): ClockCase => ({
  ...from(
    name,
    { gone: 0, purged: 0 },
    { pass: HOUR / 2 - 1, sweeping: false, gone: 0, purged: 0 },
    { pass: 1, sweeping: false, gone: HOUR / 2, purged: 0 },
    { pass: 1, gone: HOUR / 2, purged: HOUR / 2 },
    { pass: 2 * HOUR, restart: true, gone: 2 * HOUR, purged: 2 * HOUR },
  ),
  start,
});

/** Moves the clock back: hidden tokens stay hidden, in the same process and after a restart. */
const back = (name: string, by: number) =>
  from(
    name,
    { pass: HOUR / 2, sweeping: false, gone: HOUR / 2, purged: 0 },
    { set: HOUR / 2 - by, now: HOUR / 2, gone: HOUR / 2, purged: 0 },
    { restart: true, now: HOUR / 2, gone: HOUR / 2, purged: 0 },
    { restart: true, now: HOUR / 2, gone: HOUR / 2, purged: 0 },
    // The sweeper uses the current clock, so the tokens that expired by the earlier clock stay.
    { pass: 2 * MINUTE, gone: HOUR / 2, purged: 0 },
  );

/** Moves the clock back for good: after an hour time follows it, but expired tokens stay hidden. */
const backForGood = (name: string, by: number) =>
  from(
    name,
    { pass: 3 * HOUR, now: 3 * HOUR, gone: 2 * HOUR, purged: 2 * HOUR },
    { set: 3 * HOUR - by, pass: 59 * MINUTE, now: 4 * HOUR - MINUTE, gone: 2 * HOUR, purged: 2 * HOUR },
    { pass: 2 * MINUTE, now: Math.max(2 * HOUR, 4 * HOUR + MINUTE - by), gone: 2 * HOUR, purged: 2 * HOUR },
    { pass: HOUR, gone: 2 * HOUR, purged: 2 * HOUR },
  );

/** Moves the clock ahead: time goes on and the vault purges nothing for an hour, then it trusts the clock. */
const ahead = (name: string, by: number, gone: number, later = gone) =>
  from(
    name,
    { set: by, now: 0, gone, purged: 0 },
    { pass: HOUR - MINUTE, now: HOUR - MINUTE, gone, purged: 0 },
    { pass: 2 * MINUTE, now: by + HOUR + MINUTE, gone: later, purged: later },
  );

/** Moves the clock ahead and back within the hour: tokens are hidden only meanwhile, and none is purged. */
function mistake(name: string, by: number, gone: number, lasting = 10 * MINUTE): ClockCase {
  const right = 10 * MINUTE + lasting;
  return from(
    name,
    { pass: 10 * MINUTE, now: 10 * MINUTE, gone: 0, purged: 0 },
    { set: 10 * MINUTE + by, pass: lasting, now: right, gone, purged: 0 },
    { set: right, now: right, gone: 0, purged: 0 },
    { pass: 5 * MINUTE, now: right + 5 * MINUTE, gone: 0, purged: 0 },
    { pass: 2 * HOUR, now: right + 125 * MINUTE, gone: 2 * HOUR, purged: 2 * HOUR },
    { restart: true, now: right + 125 * MINUTE, gone: 2 * HOUR, purged: 2 * HOUR },
    { pass: DAY, sweeping: false, gone: 2 * HOUR, purged: 2 * HOUR },
  );
}

/** A machine that sleeps: the vault believes the clock at once. */
const SLEEPS = from(
  'sleep',
  { pass: 10 * MINUTE, now: 10 * MINUTE, gone: 0, purged: 0 },
  { sleep: 8 * HOUR, now: 8 * HOUR + 10 * MINUTE, gone: 2 * HOUR, purged: 0 },
  { pass: MINUTE, gone: 2 * HOUR, purged: 2 * HOUR },
  { sleep: 3 * DAY, pass: MINUTE, now: 3 * DAY + 8 * HOUR + 12 * MINUTE, gone: 2 * DAY, purged: 2 * DAY },
);

/** Cases in which a process starts with a wrong clock, and the next one with a right or equally wrong clock. */
const STARTS: readonly ClockCase[] = [
  from(
    'one-command-ahead',
    { start: 10 * MINUTE, doubted: false, gone: 0, purged: 0 },
    { start: 10 * YEAR, doubted: true, gone: YEAR, purged: 0 },
    { start: 11 * MINUTE, doubted: false, now: 11 * MINUTE, gone: 0, purged: 0 },
    { pass: 70 * MINUTE, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
    { start: 10 * YEAR, doubted: true, gone: YEAR, purged: HOUR / 2 },
    { start: 10 * YEAR + 30 * MINUTE, doubted: true, gone: YEAR, purged: HOUR / 2 },
  ),
  from(
    'commands-ahead-for-an-hour',
    { start: 10 * YEAR, doubted: true, gone: YEAR, purged: 0 },
    { start: 10 * YEAR + HOUR - MINUTE, doubted: true, gone: YEAR, purged: 0 },
    { start: 10 * YEAR + HOUR, doubted: false, gone: YEAR, purged: 0 },
    { start: 10 * YEAR + HOUR + MINUTE, doubted: false, gone: YEAR, purged: YEAR },
  ),
  from(
    'a-command-a-week',
    { start: 7 * DAY, doubted: true, gone: 2 * DAY, purged: 0 },
    { start: 14 * DAY, doubted: false, gone: 2 * DAY, purged: 0 },
    { start: 14 * DAY + MINUTE, doubted: false, gone: 2 * DAY, purged: 2 * DAY },
  ),
  from(
    'daemon-ahead-then-right',
    { start: 10 * YEAR, pass: 30 * MINUTE, doubted: true, gone: YEAR, purged: 0 },
    { start: 40 * MINUTE, pass: MINUTE, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
    { pass: HOUR, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
  ),
  from(
    'daemon-ahead-then-right-while-it-serves',
    { start: 10 * YEAR, pass: 30 * MINUTE, doubted: true, now: 10 * YEAR + 30 * MINUTE, gone: YEAR, purged: 0 },
    { set: 40 * MINUTE, now: 40 * MINUTE, doubted: false, gone: HOUR / 2, purged: 0 },
    { pass: MINUTE, now: 41 * MINUTE, gone: HOUR / 2, purged: HOUR / 2 },
    { pass: DAY, sweeping: false, gone: 2 * HOUR, purged: HOUR / 2 },
  ),
  from(
    'daemon-after-days-then-back',
    { start: 5 * DAY, pass: MINUTE, doubted: true, now: 5 * DAY + MINUTE, gone: 2 * DAY, purged: 0 },
    { set: 3 * DAY, now: 3 * DAY, gone: 2 * DAY, purged: 0 },
    { pass: HOUR - MINUTE, now: 3 * DAY + HOUR - MINUTE, gone: 2 * DAY, purged: 0 },
    { pass: 2 * MINUTE, now: 3 * DAY + HOUR + MINUTE, doubted: false, gone: 2 * DAY, purged: 2 * DAY },
  ),
  from(
    'daemon-after-days',
    { start: 3 * DAY, doubted: true, now: 3 * DAY, gone: 2 * DAY, purged: 0 },
    { pass: HOUR + MINUTE, doubted: false, now: 3 * DAY + HOUR + MINUTE, gone: 2 * DAY, purged: 2 * DAY },
  ),
  from(
    'daemon-ahead-for-an-hour',
    { start: 10 * YEAR, pass: HOUR - MINUTE, doubted: true, gone: YEAR, purged: 0 },
    { pass: 2 * MINUTE, doubted: false, gone: YEAR, purged: YEAR },
  ),
  from(
    'daemon-behind-then-right',
    { pass: 40 * MINUTE, gone: HOUR / 2, purged: HOUR / 2 },
    { start: -10 * YEAR, doubted: true, gone: HOUR / 2, purged: HOUR / 2 },
    { pass: HOUR + MINUTE, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
    { start: 41 * MINUTE, doubted: true, gone: HOUR / 2, purged: HOUR / 2 },
    { pass: 59 * MINUTE, doubted: true, gone: HOUR / 2, purged: HOUR / 2 },
    { pass: 30 * MINUTE, doubted: false, gone: 2 * HOUR, purged: 2 * HOUR },
  ),
];

/** All cases. `dst-end` and `dst-begin` span Europe's daylight-saving changes, which must have no effect. */
export const CLOCK_CASES: readonly ClockCase[] = [
  ordinary('ordinary', START),
  ordinary('dst-end', Date.UTC(2031, 9, 26, 0, 45)),
  ordinary('dst-begin', Date.UTC(2032, 2, 28, 0, 45)),
  ordinary('2038', 2 ** 31 * 1000 - HOUR / 4),
  ordinary('2106', 2 ** 32 * 1000 - HOUR / 4),
  ordinary('leap-day', Date.UTC(2032, 1, 28, 23, 45)),
  ordinary('after-leap-day', Date.UTC(2032, 1, 29, 23, 45)),
  back('back-1-hour', HOUR),
  back('back-1-day', DAY),
  back('back-10-years', 10 * YEAR),
  ahead('ahead-over-1-hour', HOUR + 1, HOUR / 2, 2 * HOUR),
  ahead('ahead-1-day', DAY, 2 * HOUR),
  ahead('ahead-10-years', 10 * YEAR, YEAR),
  backForGood('back-3-hours-for-good', 3 * HOUR),
  backForGood('back-90-minutes-for-good', 1.5 * HOUR),
  mistake('mistake-1-day', DAY, 2 * HOUR),
  mistake('mistake-10-years', 10 * YEAR, YEAR),
  mistake('3-years-for-2-seconds', 3 * YEAR, YEAR, 2000),
  mistake('3-hours-for-2-seconds', 3 * HOUR, 2 * HOUR, 2000),
  SLEEPS,
  ...STARTS,
];
