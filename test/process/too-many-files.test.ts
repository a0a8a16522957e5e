import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';
import { VAULT } from '../scripts/run-script.ts';
import { makePlace } from './cli-fixture.ts';

const LIMIT = 64;
const place = makePlace();
beforeAll(() => place.init('v'));

/** The arguments of `sh` that run Node with at most LIMIT open files. */
const limited = (...args: readonly string[]) => ['-c', `ulimit -n ${LIMIT}; exec "$0" "$@"`, process.execPath, ...args];

/** Opens a vault while 0, 1, … descriptors are free, then while all are. Prints the outcomes. */
const OPENS = `
const { closeSync, openSync, readFileSync } = require('node:fs');
const { openVault } = require(${JSON.stringify(path.join(ROOT, 'dist/library/open-vault.cjs'))});
const key = readFileSync('v.db.key');
function fill(free) {
  const opened = [];
  try { for (;;) opened.push(openSync('/dev/null')); } catch {}
  for (let n = 0; n < free; n += 1) closeSync(opened.pop());
  return () => opened.forEach((each) => closeSync(each));
}
const open = (options) => openVault({ file: 'v.db', key, ...options }).then((vault) => vault.close()).then(() => 'ok', ({ code, message, hint }) => ({ code, message, hint }));
(async () => {
  const outcomes = [];
  for (let free = 0; free < 6; free += 1) {
    const close = fill(free);
    const outcome = await open();
    close();
    outcomes.push(outcome, await open());
  }
  const close = fill(0);
  outcomes.push(await open({ key: undefined, keyFile: 'v.db.key' }), await open({ file: 'new.db', createIfMissing: true }));
  close();
  outcomes.push(await open({ file: 'new.db', createIfMissing: true }));
  console.log(JSON.stringify(outcomes));
})();`;

describe.runIf(process.platform !== 'win32')('too few descriptors', () => {
  it('are named by openVault, which works again as soon as there are enough', () => {
    const ran = spawnSync('sh', limited('-e', OPENS), { cwd: place.cwd, encoding: 'utf8' });
    expect(ran.stderr).toBe('');
    const outcomes: readonly (string | { readonly code: string; readonly message: string })[] = JSON.parse(ran.stdout);
    const short = {
      message: expect.stringMatching(/EMFILE|too many files/),
      hint: expect.stringContaining('ulimit -n'),
    };
    const during = outcomes.slice(0, 12).filter((_outcome, index) => index % 2 === 0);
    const again = outcomes.slice(0, 12).filter((_outcome, index) => index % 2 === 1);
    expect(during[0]).toEqual({ ...short, code: 'too_many_files' });
    expect(again).toEqual(again.map(() => 'ok'));
    for (const outcome of during) if (outcome !== 'ok') expect(outcome).toMatchObject(short);
    expect(outcomes.slice(12)).toEqual([{ ...short, code: 'usage' }, { ...short, code: 'too_many_files' }, 'ok']);
  });

  it('fail the documents of a daemon only for as long as they last', { timeout: 30_000 }, async () => {
    const words = ['serve', '--dev', '--port', '0', '--no-log'];
    const daemon = spawn('sh', limited(VAULT, ...words), { stdio: ['ignore', 'ignore', 'pipe'] });
    onTestFinished(async () => {
      daemon.kill();
      await once(daemon, 'exit');
    });
    let stderr = '';
    while (!stderr.includes('listening on')) stderr += String((await once(daemon.stderr, 'data'))[0]);
    daemon.stderr.resume();
    const port = Number(/listening on http:\S+:(\d+)/.exec(stderr)?.[1]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const statusOf = (url: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = get({ host: '127.0.0.1', port, path: url, agent }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode));
        });
        asked.on('error', reject);
      });
    expect(await statusOf('/livez')).toBe(200);
    const others = Array.from({ length: LIMIT }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await Promise.all(others.map((socket) => once(socket, 'connect')));
    // The daemon accepts them in its next turns.
    await sleep(300);
    const documents = () => Promise.all(['/openapi.json', '/ui/'].map(statusOf));
    expect(await documents()).toEqual([500, 500]);
    for (const socket of others) socket.destroy();
    await expect.poll(documents, { timeout: 5_000 }).toEqual([200, 200]);
  });
});
