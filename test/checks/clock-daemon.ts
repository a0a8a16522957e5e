import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailure, type Figures } from './check.ts';
import { DAY, HOUR, MINUTE } from './clock-cases.ts';
import { createSetClock } from './clocks.ts';
import { makeFolder } from './folder.ts';
import type { Performed } from './perform.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

const YEAR = 365 * DAY;
/** How long the clock of a daemon is wrong. */
const WRONG_MS = 2000;
/** How long after the clock is right everything must be as before. */
const SETTLED_MS = 2000;
const LIFETIMES = { two_hours: 2 * HOUR, year: YEAR, ten_years: 10 * YEAR } as const;

interface Wrong {
  readonly name: string;
  /** How far the clock is wrong. */
  readonly by: number;
  /** The tokens that it hides. */
  readonly hidden: readonly (keyof typeof LIFETIMES)[];
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
  /** Records an observation. */
  readonly same: (what: string, found: unknown, expected: unknown) => void;
}

async function readyStatus({ vault }: Place): Promise<number> {
  return (await fetch(`${vault.url()}/readyz`)).status;
}

/** Reads all tokens, writes a new one, and creates an expiring application. */
async function use({ vault, same }: Place, where: string, hidden: readonly string[]): Promise<Performed> {
  for (const id of Object.keys(LIFETIMES)) {
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

/**
 * Sets the clock of a daemon wrong for two seconds while `/readyz` is polled, then right. A clock that is ahead always
 * hides the minted applications.
 */
async function serveWrong(place: Place, { name, by, hidden }: Wrong): Promise<void> {
  const { vault, set, same } = place;
  await vault.start();
  try {
    for (const [id, life] of Object.entries(LIFETIMES)) {
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
export async function runDaemons(): Promise<Figures> {
  const counts = [await inPlace(commandWrong)];
  for (const wrong of WRONG) counts.push(await inPlace((place) => serveWrong(place, wrong)));
  return { daemons: counts.length, daemon_observations: counts.reduce((sum, count) => sum + count) };
}
