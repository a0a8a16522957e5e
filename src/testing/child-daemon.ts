import { spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeTemporaryFolder, removeFolder } from '../cli/commands/dev/temporary-folder.ts';
import { type Ready, readReadyFile } from '../cli/commands/serve/ready-file.ts';
import { Fault } from '../core/fault.ts';
import { type CheckedOptions, ownEnvironment, type StartedDaemon } from './start-options.ts';

const MAX_START_MS = 30_000;
const PAUSE_MS = 10;
/** The path of the command, both from src/testing/ and from the bundled file in dist/. */
const BIN = path.join(import.meta.dirname, '../../bin/vault.js');

/** Starts `vault serve --dev` in a child process that ends with this one. Resolves when the daemon is ready. */
export async function startChild({ headerPrefix, seedFiles, seed }: CheckedOptions): Promise<StartedDaemon> {
  const folder = makeTemporaryFolder('test');
  const readyFile = path.join(folder, 'ready.json');
  const words = ['serve', '--dev', '--port', '0', '--ready-file', readyFile, '--header-prefix', headerPrefix];
  const seeding = [
    ...seedFiles.flatMap((file) => ['--seed-file', file]),
    ...(seed === undefined ? [] : ['--seed', seed]),
  ];
  const child = spawn(process.execPath, [BIN, ...words, ...seeding], {
    env: ownEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-2_000);
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = (): void => {
    child.kill();
    removeFolder(folder);
  };
  process.on('exit', end);

  async function stop(): Promise<void> {
    child.ref();
    // On Windows a signal kills the daemon at once; elsewhere it stops by itself within 10 s.
    if (child.exitCode === null && child.signalCode === null) child.kill();
    await ended;
    process.off('exit', end);
    removeFolder(folder);
  }

  async function ready(): Promise<Ready> {
    const deadline = performance.now() + MAX_START_MS;
    while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
      const found = await readReadyFile(readyFile);
      if (found !== undefined) return found;
      await sleep(PAUSE_MS);
    }
    throw new Fault('not_ready', `\`vault serve --dev\` did not start: ${output.trim()}`);
  }

  try {
    const { url, tenant_id = '', management_key = '', private_key = '', seed: ids } = await ready();
    child.unref();
    child.stderr.destroy();
    return { url, keys: { tenant_id, management_key, private_key }, ids, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
