import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startPostgres } from '../../postgres/start-postgres.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from '../check.ts';
import { VAULT_BIN } from '../daemon-process.ts';
import { makeFolder } from '../folder.ts';
import { seededNumbers } from '../perform.ts';

const execute = promisify(execFile);
const ROUNDS = { quick: 8, full: 60 } as const;
const TOKENS = 400;

/** Kills `vault move` at random moments, back and forth between files and databases, and runs it again. */
async function moves({ seed, quick }: CheckOptions, keepSource: boolean): Promise<Figures> {
  const random = seededNumbers(seed);
  using temporary = makeFolder();
  const folder = temporary.path;
  await using server = await startPostgres();
  const env = { PATH: process.env['PATH'], PGPASSWORD: 'unused', VAULT_KEY_FILE: join(folder, 'vault.key') };
  const counts = { rounds: 0, killed: 0, done_at_kill: 0, neither_served: 0 };
  let apiKey = '';

  const vault = async (words: readonly string[], more = {}) => {
    const { stdout } = await execute(process.execPath, [VAULT_BIN, ...words], {
      env: { ...env, ...more },
      maxBuffer: 2 ** 26,
    });
    return stdout;
  };
  const locationOf = (round: number) =>
    round % 2 === 0
      ? join(folder, `vault-${round}.db`)
      : `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=disable&schema=round_${round}`;
  const flagsOf = (location: string) => [location.startsWith('postgres') ? '--store' : '--file', location];
  /** Resolves to all tokens of a location, or to undefined if it does not serve. */
  async function tokensAt(location: string): Promise<string | undefined> {
    const words = ['tokens', 'list', '--all', '--output', 'ndjson', ...flagsOf(location)];
    return vault(words, { VAULT_API_KEY: apiKey }).catch(() => undefined);
  }

  const first = locationOf(0);
  const made = JSON.parse(await vault(['init', ...flagsOf(first)]));
  const rule = 'container=/ transform=reveal permissions=token:create,token:read';
  const words = ['apps', 'create', '--name', 'a', '--type', 'private', '--rule', rule, '--field', 'key'];
  apiKey = (await vault([...words, ...flagsOf(first)], { VAULT_API_KEY: made.application.key })).trim();
  const rows = Array.from({ length: TOKENS }, (_, n) =>
    JSON.stringify({ id: `token-${n}`, type: 'token', data: `data ${n}` }),
  );
  writeFileSync(join(folder, 'rows'), rows.join('\n'));
  await vault(['import', join(folder, 'rows'), ...flagsOf(first)], { VAULT_API_KEY: apiKey });
  const expected = await tokensAt(first);
  if (expected === undefined) throw new Error('the first vault does not serve');

  for (; counts.rounds < ROUNDS[quick ? 'quick' : 'full']; counts.rounds += 1) {
    const [from, to] = [locationOf(counts.rounds), locationOf(counts.rounds + 1)];
    const move = ['move', '--from', from, '--to', to, ...(keepSource ? ['--keep-source'] : [])];
    const child = spawn(process.execPath, [VAULT_BIN, ...move], { env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    if (!keepSource) await Promise.race([sleep(80 + random() * 250), ended]);
    else await ended;
    if (child.exitCode === null) counts.killed += 1;
    child.kill('SIGKILL');
    await ended;
    const [source, target] = [await tokensAt(from), await tokensAt(to)];
    if (source !== undefined && target !== undefined) throw new CheckFailure('both locations serve', counts);
    if ((source ?? target ?? expected) !== expected) throw new CheckFailure('the tokens differ after the kill', counts);
    if (source === undefined && target === undefined) counts.neither_served += 1;
    if (target !== undefined) counts.done_at_kill += 1;
    else await vault(move);
    if ((await tokensAt(to)) !== expected) throw new CheckFailure('the tokens differ after the move', counts);
    if ((await tokensAt(from)) !== undefined) throw new CheckFailure('the source serves after the move', counts);
    if (!from.startsWith('postgres') && !existsSync(`${from}.moved`)) throw new CheckFailure('no .moved file', counts);
    const doctor = await vault(['doctor', ...flagsOf(to)]).catch(({ stdout }) => String(stdout));
    if (JSON.parse(doctor).ok !== true) throw new CheckFailure(`doctor: ${doctor.slice(0, 300)}`, counts);
  }
  if (!keepSource && counts.killed === 0) throw new CheckFailure('no move was killed', counts);
  return counts;
}

export const CHECK: Check = {
  number: 29,
  name: 'killed moves',
  quick: true,
  run: (options) => moves(options, false),
  /** Makes copies, so that both locations serve. */
  control: (options) => moves(options, true),
};
