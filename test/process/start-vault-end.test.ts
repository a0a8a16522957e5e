import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

const MODULE = pathToFileURL(path.join(import.meta.dirname, '../../dist/testing/start-vault.js')).href;
const MAX_WAITED_MS = 15_000;

/** Starts a program with two vaults, which never calls `stop`. Its folder for temporary files is otherwise empty. */
async function start(options: object, after: string, inThread = false) {
  const temporary = temporaryFolder(onTestFinished);
  const script = `
    const { startVault } = await import(${JSON.stringify(MODULE)});
    const vaults = [await startVault(${JSON.stringify(options)}), await startVault(${JSON.stringify(options)})];
    await vaults[1].client.createToken({ body: { type: 'token', data: 'x' } });
    require('node:fs').writeSync(1, vaults[0].url + '\\n');
    ${after}`;
  const body = `(async () => {${script}})()`;
  const thread = `new (require('node:worker_threads').Worker)(${JSON.stringify(body)}, { eval: true })
    .on('error', () => undefined)`;
  const env = { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  const parent = spawn(process.execPath, ['--input-type=commonjs', '-e', inThread ? thread : body], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const exit = once(parent, 'exit');
  const [url] = (await once(createInterface(parent.stdout), 'line')) as [string];
  return { parent, url, exit, files: () => readdirSync(temporary) };
}

const answers = (url: string) =>
  fetch(`${url}/livez`, { headers: { connection: 'close' } }).then(
    () => true,
    () => false,
  );

async function until(done: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + MAX_WAITED_MS;
  while (performance.now() < deadline) {
    if (await done()) return true;
    await sleep(20);
  }
  return false;
}

const WAIT = 'setInterval(() => undefined, 1e6);';

describe('a child vault without `stop` leaves no process and no file', () => {
  it.each([
    ['SIGTERM', WAIT, false],
    ['SIGKILL', WAIT, false],
    ['a natural end', '', false],
    ['process.exit', 'process.exit(1);', false],
    ['process.exit, beside a vault in the process', 'await startVault(); process.exit(1);', false],
    ['an uncaught error', 'throw new Error();', false],
    ['a failed thread', 'throw new Error();', true],
  ])('after %s', { timeout: 60_000 }, async (how, after, inThread) => {
    const { parent, url, exit, files } = await start({ mode: 'child' }, after, inThread);
    if (how.startsWith('SIG')) {
      // Control: the daemon runs as long as its parent does.
      expect([await answers(url), files().length]).toEqual([true, 2]);
      parent.kill(how as NodeJS.Signals);
    }
    await exit;
    expect(await until(async () => files().length === 0 && !(await answers(url)))).toBe(true);
  });
});

describe('keepAlive', () => {
  it.each([
    ['in-process', false],
    ['in-process', true],
    ['child', true],
  ] as const)('%s, %j', { timeout: 60_000 }, async (mode, keepAlive) => {
    const { parent, url, exit, files } = await start({ mode, keepAlive }, '');
    if (keepAlive) {
      await sleep(200);
      expect([parent.exitCode, await answers(url)]).toEqual([null, true]);
      return;
    }
    expect(await exit).toEqual([0, null]);
    expect(files()).toEqual([]);
  });
});
