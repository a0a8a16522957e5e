export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** The tokens of each case: how long after its start each expires, in milliseconds. One more never does. */
export const LIFETIMES = {
  half_hour: HOUR / 2,
  two_hours: 2 * HOUR,
  two_days: 2 * DAY,
  year: YEAR,
  twenty_years: 20 * YEAR,
} as const;

export interface ClockStep {
  /** The wall's clock is set to so long after the start. */
  readonly set?: number;
  /** Then so much time really passes; the sweeper has a turn every minute. */
  readonly pass?: number;
  /** False: it has none. */
  readonly sweeping?: boolean;
  /** Then the vault is closed, and opened by a process that knows nothing of before. */
  readonly restart?: boolean;
  /** The vault is closed as a command closes it, the clock is set to so long after the start, and a new process opens the vault. */
  readonly start?: number;
  /** Whether the vault and doctor then name a clock in doubt. */
  readonly doubted?: boolean;
  /** Tokens of this lifetime or a shorter one are not to be seen afterwards, longer ones are. */
  readonly gone: number;
  /** Tokens of this lifetime or a shorter one are not in the file, longer ones are. */
  readonly purged: number;
}

export interface ClockCase {
  readonly name: string;
  /** What the wall's clock says when the tokens are made. */
  readonly start: number;
  readonly steps: readonly ClockStep[];
}

const START = Date.UTC(2031, 4, 6, 7, 8, 9);

/** Time passes without anybody's doing: what expires is hidden at once and purged at the next turn. */
function ordinary(name: string, start: number): ClockCase {
  return {
    name,
    start,
    steps: [
      { gone: 0, purged: 0 },
      { pass: HOUR / 2 - 1, sweeping: false, gone: 0, purged: 0 },
      { pass: 1, sweeping: false, gone: HOUR / 2, purged: 0 },
      { pass: 1, gone: HOUR / 2, purged: HOUR / 2 },
      { pass: 2 * HOUR, restart: true, gone: 2 * HOUR, purged: 2 * HOUR },
    ],
  };
}

/** What is hidden and not yet purged stays hidden when the clock goes back, in the same process and in the next. */
function back(name: string, by: number): ClockCase {
  return {
    name,
    start: START,
    steps: [
      { pass: HOUR / 2, sweeping: false, gone: HOUR / 2, purged: 0 },
      { set: HOUR / 2 - by, gone: HOUR / 2, purged: 0 },
      { restart: true, gone: HOUR / 2, purged: 0 },
      { restart: true, gone: HOUR / 2, purged: 0 },
      // The clock is what counts, not what has expired by another one.
      { pass: 2 * MINUTE, gone: HOUR / 2, purged: 0 },
    ],
  };
}

/** Nothing is purged for an hour after a jump; then the clock is believed. */
function ahead(name: string, by: number, gone: number, later = gone): ClockCase {
  return {
    name,
    start: START,
    steps: [
      { set: by, gone, purged: 0 },
      { pass: HOUR - MINUTE, gone, purged: 0 },
      { pass: 2 * MINUTE, gone: later, purged: later },
    ],
  };
}

/** A jump that is taken back within the hour: hidden until the vault is opened anew, never purged, nothing lost. */
function mistake(name: string, by: number, gone: number): ClockCase {
  return {
    name,
    start: START,
    steps: [
      { set: by, pass: 10 * MINUTE, gone, purged: 0 },
      { set: 10 * MINUTE, pass: 5 * MINUTE, gone, purged: 0 },
      { pass: 2 * HOUR, gone, purged: 2 * HOUR },
      { restart: true, gone: 2 * HOUR, purged: 2 * HOUR },
    ],
  };
}

/** The clock is wrong when a process starts, and right, or as wrong, when the next ones do. */
const STARTS: readonly ClockCase[] = [
  {
    name: 'one-command-ahead',
    start: START,
    steps: [
      { start: 10 * MINUTE, doubted: false, gone: 0, purged: 0 },
      { start: 10 * YEAR, doubted: true, gone: YEAR, purged: 0 },
      { start: 11 * MINUTE, doubted: false, gone: 0, purged: 0 },
      { pass: 70 * MINUTE, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
      { start: 10 * YEAR, doubted: true, gone: YEAR, purged: HOUR / 2 },
      { start: 10 * YEAR + 30 * MINUTE, doubted: true, gone: YEAR, purged: HOUR / 2 },
    ],
  },
  {
    name: 'commands-ahead-for-an-hour',
    start: START,
    steps: [
      { start: 10 * YEAR, doubted: true, gone: YEAR, purged: 0 },
      { start: 10 * YEAR + HOUR - MINUTE, doubted: true, gone: YEAR, purged: 0 },
      { start: 10 * YEAR + HOUR, doubted: false, gone: YEAR, purged: 0 },
      { start: 10 * YEAR + HOUR + MINUTE, doubted: false, gone: YEAR, purged: YEAR },
    ],
  },
  {
    name: 'a-command-a-week',
    start: START,
    steps: [
      { start: 7 * DAY, doubted: true, gone: 2 * DAY, purged: 0 },
      { start: 14 * DAY, doubted: false, gone: 2 * DAY, purged: 0 },
      { start: 14 * DAY + MINUTE, doubted: false, gone: 2 * DAY, purged: 2 * DAY },
    ],
  },
  {
    name: 'daemon-ahead-then-right',
    start: START,
    steps: [
      { start: 10 * YEAR, pass: 30 * MINUTE, doubted: true, gone: YEAR, purged: 0 },
      { start: 40 * MINUTE, pass: MINUTE, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
      { pass: HOUR, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
    ],
  },
  {
    name: 'daemon-ahead-for-an-hour',
    start: START,
    steps: [
      { start: 10 * YEAR, pass: HOUR - MINUTE, doubted: true, gone: YEAR, purged: 0 },
      { pass: 2 * MINUTE, doubted: false, gone: YEAR, purged: YEAR },
    ],
  },
  {
    name: 'daemon-behind-then-right',
    start: START,
    steps: [
      { pass: 40 * MINUTE, gone: HOUR / 2, purged: HOUR / 2 },
      { start: -10 * YEAR, doubted: true, gone: HOUR / 2, purged: HOUR / 2 },
      { pass: HOUR + MINUTE, doubted: false, gone: HOUR / 2, purged: HOUR / 2 },
      { start: 41 * MINUTE, doubted: true, gone: HOUR / 2, purged: HOUR / 2 },
      { pass: 59 * MINUTE, doubted: true, gone: HOUR / 2, purged: HOUR / 2 },
      { pass: 30 * MINUTE, doubted: false, gone: 2 * HOUR, purged: 2 * HOUR },
    ],
  },
];

/** Europe's change to winter time in 2031 and to summer time in 2032: instants do not notice. */
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
  mistake('mistake-1-day', DAY, 2 * HOUR),
  mistake('mistake-10-years', 10 * YEAR, YEAR),
  ...STARTS,
];
