import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import type { Times } from '../../src/vault/clock/system-clock.ts';
import { createVault, openFileVault, type Vault } from '../../src/vault/vault.ts';
import { type Check, CheckFailure, type Figures } from './check.ts';
import { CLOCK_CASES, type ClockCase, DAY, LIFETIMES, MINUTE } from './clock-cases.ts';
import { runDaemons } from './clock-daemon.ts';
import { makeFolder } from './folder.ts';
import { createCaller, EVERYTHING, type Perform } from './perform.ts';
import { readColumn } from './tamper-file.ts';

const KEY = new Uint8Array(32).fill(7);
const CREDENTIAL = { kind: 'key_file', key: KEY } as const;

/**
 * Creates a settable wall clock and a monotonic clock. With `believing`, both return wall time, so that no jump is
 * detected.
 */
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

/** An expiring application, and the real time by which it must have ended. */
interface Minted {
  readonly key: string;
  readonly ends: number;
}

/** Opens a vault that a case closes and opens again. */
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

/** Counts the observations, and those that differ from the expected ones. */
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
