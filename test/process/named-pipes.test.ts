import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { makePlace } from './cli-fixture.ts';

const place = makePlace();
beforeAll(async () => {
  writeFileSync(place.inside('m.key'), await place.init('v'), { mode: 0o600 });
});

/** Starts a command that waits for data from an empty pipe. */
async function startWaiting(words: readonly string[]): Promise<ChildProcess> {
  const child = place.start(words);
  await sleep(1_000);
  expect(child.exitCode).toBe(null);
  return child;
}

let count = 0;
function makePipe(): string {
  count += 1;
  execFileSync('mkfifo', [place.inside(`pipe-${count}`)]);
  return `pipe-${count}`;
}

const ON_FILE = ['--file', 'v.db'];
const WITH_KEY = [...ON_FILE, '--api-key-file', 'm.key'];
const COMMANDS: readonly (readonly [string, (pipe: string) => readonly string[]])[] = [
  ['import', (pipe) => ['import', pipe, ...WITH_KEY]],
  ['--data', (pipe) => ['tokens', 'create', '--type', 'token', '--data', `@${pipe}`, ...WITH_KEY]],
  ['--api-key-file', (pipe) => ['apps', 'list', ...ON_FILE, '--api-key-file', pipe]],
  ['--passphrase-file', (pipe) => ['init', '--file', 'w.db', '--passphrase-file', pipe, '--key-out', 'w.key']],
];

describe.runIf(process.platform !== 'win32')('a pipe that nobody writes to', () => {
  it.each(COMMANDS)('%s: the command ends on a signal and leaves no files', async (_what, words) => {
    const pipe = makePipe();
    const before = readdirSync(place.cwd);
    const endAt = async (signal: NodeJS.Signals) => {
      const child = await startWaiting(words(pipe));
      const ended = once(child, 'exit');
      child.kill(signal);
      return ended;
    };
    expect(await Promise.all([endAt('SIGTERM'), endAt('SIGINT')])).toEqual([
      [null, 'SIGTERM'],
      [null, 'SIGINT'],
    ]);
    expect(readdirSync(place.cwd)).toEqual(before);
  });

  it.each(COMMANDS.slice(1, 3))('%s: is read once data arrives', async (what, words) => {
    const pipe = makePipe();
    const child = await startWaiting(words(pipe));
    const ended = once(child, 'exit');
    const text = what === '--data' ? '{"a":1}' : readFileSync(place.inside('m.key'));
    writeFileSync(place.inside(pipe), text);
    // This management key may list applications but not create tokens.
    expect(await ended).toEqual([what === '--data' ? 5 : 0, null]);
  });
});
