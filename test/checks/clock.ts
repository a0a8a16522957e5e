import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { directClient } from '../../src/client/direct.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import type { Times } from '../../src/vault/clock/system-clock.ts';
import { createVault, openFileVault, type Vault } from '../../src/vault/vault.ts';
import { type Check, CheckFailure, type Figures } from './check.ts';
import { CLOCK_CASES, type ClockCase, DAY, HOUR, LIFETIMES, MINUTE } from './clock-cases.ts';
import { createSetClock } from './clocks.ts';
import { makeFolder } from './folder.ts';
import { createCaller, EVERYTHING, type Perform, type Performed } from './perform.ts';
import { type ServedVault, serveVault } from './served-vault.ts';
import { readColumn } from './tamper-file.ts';

const YEAR = 365 * DAY;
const WRONG_MS = 2000;
/** How long after the clock is right everything must be as before. */
const SETTLED_MS = 2000;
const DAEMON_LIFETIMES = { two_hours: 2 * HOUR, year: YEAR, ten_years: 10 * YEAR } as const;

interface Wrong {
  readonly name: string;
  readonly by: number;
  readonly hidden: readonly (keyof typeof DAEMON_LIFETIMES)[];
}

/** The wrong clocks of a daemon that serves, or of a command on the file. */
const WRONG: readonly Wrong[] = [
  { name: '3 years ahead', by: 3 * YEAR, hidden: ['two_hours', 'year'] },
  { name: '3 hours ahead', by: 3 * HOUR, hidden: ['two_hours'] },
  { name: '61 minutes ahead', by: 61 * MINUTE, hidden: [] },
  { name: '3 hours behind', by: -3 * HOUR, hidden: [] },
];

interface Place {
  readonly vault: ServedVault;
  readonly set: (ahead: number) => void;
  readonly same: (what: string, found: unknown, expected: unknown) => void;
}

async function readyStatus({ vault }: Place): Promise<number> {
  return (await fetch(`${vault.url()}/readyz`)).status;
}

/** Reads all tokens, writes a new one, and creates an expiring application. */
async function use({ vault, same }: Place, where: string, hidden: readonly string[]): Promise<Performed> {
  for (const id of Object.keys(DAEMON_LIFETIMES)) {
    const { status } = await vault.remote(vault.everything, 'getToken', { id });
    same(`${where}: ${id}`, status, hidden.includes(id) ? 404 : 200);
  }
  const expires_at = new Date(Date.now() + HOUR).toISOString();
  const fresh = await vault.remote(vault.everything, 'createToken', { body: { type: 'token', data: 'x', expires_at } });
  same(`${where}: a create`, fresh.status, 201);
  const off = Math.abs(Date.parse(String(fresh.body['created_at'])) - Date.now());
  same(`${where}: a new token is dated within a second`, off < 1000, true);
  const body = { name: 'minted', type: 'expiring', permissions: ['token:read'] };
  const minted = await vault.remote(vault.management, 'createApplication', { body });
  same(`${where}: a mint`, minted.status, 201);
  const life = Date.parse(String(minted.body['expires_at'])) - Date.now();
  same(`${where}: a minted application ends within a minute`, life > 0 && life <= MINUTE, true);
  return minted;
}

/** Sets the clock of a daemon wrong for two seconds, then right. A clock ahead hides minted applications. */
async function serveWrong(place: Place, { name, by, hidden }: Wrong): Promise<void> {
  const { vault, set, same } = place;
  await vault.start();
  try {
    for (const [id, life] of Object.entries(DAEMON_LIFETIMES)) {
      const expires_at = new Date(Date.now() + life).toISOString();
      await vault.remote(vault.everything, 'createToken', { body: { id, type: 'token', data: id, expires_at } });
    }
    await use(place, 'before', []);
    set(by);
    await sleep(200);
    const end = performance.now() + WRONG_MS;
    for (let polls = 0; performance.now() < end; polls++) {
      same(`${name}: /readyz`, await readyStatus(place), by > 0 ? 503 : 200);
      if (polls % 5 === 0) await use(place, name, hidden);
      await sleep(100);
    }
    set(0);
    await sleep(SETTLED_MS);
    same(`after ${name}: /readyz`, await readyStatus(place), 200);
    await use(place, `after ${name}`, []);
  } finally {
    await vault.kill();
  }
}

/** Creates expiring applications by a command under a wrong clock. A daemon with the right clock must refuse them. */
async function commandWrong({ vault, set, same }: Place): Promise<void> {
  set(3 * YEAR);
  const made = ['apps', 'create', '--name', 'minted', '--type', 'expiring', '--permission', 'token:read'];
  const { key } = JSON.parse(await vault.cli([...made, '--output', 'json'], vault.management));
  set(0);
  await vault.start();
  const { status } = await vault.remote(String(key), 'getApplicationByKey');
  same('an application that a command made 3 years ahead', status, 401);
  await vault.kill();
}

async function inPlace(run: (place: Place) => Promise<void>): Promise<number> {
  using folder = makeFolder();
  const wrong: string[] = [];
  let observations = 0;
  const same = (what: string, found: unknown, expected: unknown) => {
    observations++;
    if (found !== expected) wrong.push(`${what}: ${found} instead of ${expected}`);
  };
  const { set, nodeFlag } = createSetClock(join(folder.path, 'ahead'));
  await using vault = await serveVault([nodeFlag]);
  await run({ vault, set, same });
  const [first] = wrong;
  if (first !== undefined) throw new CheckFailure(`${first} (${wrong.length} such)`, { wrong: wrong.length });
  return observations;
}

/** Sets the clocks of daemons and commands wrong. Resolves to the number of observations. */
async function runDaemons(): Promise<Figures> {
  const counts = [await inPlace(commandWrong)];
  for (const wrong of WRONG) counts.push(await inPlace((place) => serveWrong(place, wrong)));
  return { daemons: counts.length, daemon_observations: counts.reduce((sum, count) => sum + count) };
}

const KEY = new Uint8Array(32).fill(7);
const CREDENTIAL = { kind: 'key_file', key: KEY } as const;

/** Creates a wall and a monotonic clock. With `believing`, both return wall time, which hides jumps. */
function settableTimes(start: number, believing: boolean) {
  let wall = start;
  let running = 0;
  let asleep = 0;
  return {
    times: { wall: () => wall, running: () => (believing ? wall : running), asleep: () => asleep } satisfies Times,
    /** Returns the milliseconds that have really passed. */
    real: () => running + asleep,
    pass: (real: number) => {
      wall += real;
      running += real;
    },
    sleep: (real: number) => {
      wall += real;
      asleep += real;
    },
    set: (to: number) => {
      wall = to;
    },
  };
}

interface Minted {
  readonly key: string;
  readonly ends: number;
}

async function openTimed(file: string, times: Times) {
  let vault: Vault;
  async function open(): Promise<void> {
    vault = await openFileVault({ file, credential: CREDENTIAL, times });
  }
  await open();
  return {
    perform: createCaller(() => directClient(vault)),
    sweep: () => vault.sweep(),
    notices: () => vault.notices(),
    restart: async () => {
      await vault.close();
      await open();
    },
    /** Closes the vault as a command does, calls `set`, and opens it again. */
    start: async (set: () => void) => {
      await directClient(vault).close();
      set();
      await open();
    },
    close: () => vault.close(),
  };
}

/** Counts the rows in the file, including hidden tokens that are not purged yet. */
async function rowsOf(file: string): Promise<number> {
  const [rows] = await readColumn(file, 'SELECT count(*) FROM token');
  return Number(rows);
}

function createTally() {
  const counts = { observations: 0, resurrected: 0, lost_or_purged: 0, outlived: 0 };
  const wrong: string[] = [];
  return {
    counts,
    wrong,
    /** Notes an observation, and a wrong one among those of its kind, too. */
    note(isRight: boolean, what: string, kind?: Exclude<keyof typeof counts, 'observations'>): void {
      counts.observations++;
      if (isRight) return;
      if (kind !== undefined) counts[kind]++;
      wrong.push(what);
    },
  };
}

/** Creates an expiring application with the latest end that the vault allows, and one with the default end. */
async function mint(perform: Perform, management: string, now: number): Promise<readonly string[]> {
  const bodies = [{}, { expires_at: new Date(now + DAY).toISOString() }];
  const made = bodies.map(async (more) => {
    const body = { name: 'minted', type: 'expiring', permissions: ['token:read'], ...more };
    const { status, text, body: created } = await perform(management, 'createApplication', { body });
    if (status !== 201) throw new CheckFailure(`an expiring application was answered ${status} ${text}`);
    return String(created['key']);
  });
  return Promise.all(made);
}

interface Keys {
  readonly key: string;
  readonly management: string;
}

async function runCase(
  one: ClockCase,
  { key, management }: Keys,
  file: string,
  { note }: ReturnType<typeof createTally>,
  believing: boolean,
): Promise<void> {
  const minted: Minted[] = [];
  const clock = settableTimes(one.start, believing);
  const timed = await openTimed(file, clock.times);
  const ids = Object.entries(LIFETIMES).map(([name, ms]) => ({ id: `${one.name}-${name}`, ms }));
  const tokens = [...ids.map(({ id }) => id), `${one.name}-eternal`];
  const before = await rowsOf(file);
  const sees = (where: string, id: string, isThere: boolean, expected: boolean) => {
    const what = `${where}: ${id} is ${isThere ? 'there' : 'not there'}`;
    note(isThere === expected, what, isThere ? 'resurrected' : 'lost_or_purged');
  };
  const names = (where: string, notices: readonly string[], doubted: boolean) => {
    const isNamed = notices.some((notice) => notice.includes('the clock is in doubt'));
    note(isNamed === doubted, `${where} ${doubted ? 'names no clock in doubt' : notices.join('; ')}`);
  };
  for (const { id, ms } of ids) {
    const expires_at = new Date(one.start + ms).toISOString();
    const { status, text } = await timed.perform(key, 'createToken', {
      body: { type: 'token', id, data: id, expires_at },
    });
    if (status !== 201) throw new CheckFailure(`${id} was answered ${status} ${text}`);
  }
  await timed.perform(key, 'createToken', { body: { type: 'token', id: tokens.at(-1), data: 'x' } });
  try {
    for (const [index, step] of one.steps.entries()) {
      const { set, start: startAt, doubted } = step;
      if (startAt !== undefined) await timed.start(() => clock.set(one.start + startAt));
      if (set !== undefined) clock.set(one.start + set);
      if (step.sleep !== undefined) clock.sleep(step.sleep);
      for (let left = step.pass ?? 0; left > 0; left -= MINUTE) {
        clock.pass(Math.min(left, MINUTE));
        if (step.sweeping !== false) await timed.sweep();
      }
      if (step.restart) await timed.restart();
      const where = `${one.name}, step ${index + 1}`;
      if (doubted !== undefined) {
        names(`${where}: the vault`, await timed.notices(), doubted);
        const { notices } = await checkVaultFile({ file, credential: CREDENTIAL, times: clock.times });
        names(`${where}: doctor`, notices, doubted);
      }
      const list = await timed.perform(key, 'listTokens', { query: `size=100` });
      for (const { id, ms } of [...ids, { id: `${one.name}-eternal`, ms: Number.POSITIVE_INFINITY }]) {
        const expected = ms > step.gone;
        const { status } = await timed.perform(key, 'getToken', { id });
        sees(where, id, status === 200, expected);
        sees(`${where}, list`, id, list.text.includes(`"${id}"`), expected);
      }
      const fresh = await timed.perform(key, 'createToken', { body: { type: 'token', data: 'x' } });
      const created = Date.parse(String(fresh.body['created_at']));
      await timed.perform(key, 'deleteToken', { id: String(fresh.body['id']) });
      const off = created - one.start - (step.now ?? 0);
      if (step.now !== undefined) note(off === 0, `${where}: a new record is ${off} ms off`);
      const old = minted.filter(({ ends }) => clock.real() >= ends);
      const answers = old.map((each) => timed.perform(each.key, 'getApplicationByKey'));
      for (const { status } of await Promise.all(answers))
        note(status === 401, `${where}: an expiring application is older than a day`, 'outlived');
      for (const child of await mint(timed.perform, management, created))
        minted.push({ key: child, ends: clock.real() + DAY });
      const purged = ids.filter(({ ms }) => ms <= step.purged).length;
      const [rows, expected] = [await rowsOf(file), before + tokens.length - purged];
      const what = `${where}: ${rows} rows instead of ${expected}`;
      note(rows === expected, what, rows < expected ? 'lost_or_purged' : undefined);
    }
  } finally {
    for (const id of tokens) await timed.perform(key, 'deleteToken', { id });
    await timed.close();
  }
}

async function runAll(cases: readonly ClockCase[], believing = false): Promise<Figures> {
  const tally = createTally();
  for (const one of cases) {
    using folder = makeFolder();
    const file = join(folder.path, 'vault.db');
    const { times } = settableTimes(one.start, false);
    const { vault, application } = await createVault({ file, credential: CREDENTIAL, times, tenantName: 'clock' });
    const call = createCaller(() => directClient(vault));
    const made = await call(String(application.key), 'createApplication', { body: EVERYTHING });
    await vault.close();
    const keys = { key: String(made.body['key']), management: String(application.key) };
    await runCase(one, keys, file, tally, believing);
  }
  const figures = { cases: cases.length, ...tally.counts };
  const [first] = tally.wrong;
  if (first !== undefined) throw new CheckFailure(`${first} (${tally.wrong.length} such)`, figures);
  return figures;
}

const run = async () => ({ ...(await runAll(CLOCK_CASES)), ...(await runDaemons()) });

/** Hides every clock jump from the vault, which then purges tokens that have not expired. */
const control = () => runAll(CLOCK_CASES, true);

export const CHECK: Check = { number: 15, name: 'clock', quick: false, run, control };
