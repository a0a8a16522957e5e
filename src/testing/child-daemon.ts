import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import path from 'node:path';
import { ENDS_WITH_INPUT } from '../cli/commands/serve/end-with-input.ts';
import { parseReady, type Ready } from '../cli/commands/serve/ready-file.ts';
import { errorCode, Fault } from '../core/fault.ts';
import { clearTimeout, setTimeout } from '../core/timers.ts';
import { type CheckedOptions, ownEnvironment, type StartedDaemon } from './start-options.ts';

const MAX_START_MS = 30_000;
const MAX_ERROR_CHARACTERS = 2_000;
/** The path of the command, both from src/testing/ and from the bundled file in dist/. */
const BIN = path.join(import.meta.dirname, '../../dist/vault.cjs');

/**
 * Starts `vault serve --dev` in a child process. Resolves when the daemon is ready. The child ends, and removes its
 * files, when its standard input ends: at `stop`, and when this process or thread ends in any way.
 */
export async function startChild({ headerPrefix, seedFiles, seed, keepAlive }: CheckedOptions): Promise<StartedDaemon> {
  const words = ['serve', '--dev', '--port', '0', '--output', 'ndjson', '--header-prefix', headerPrefix];
  const seeding = [
    ...seedFiles.flatMap((file) => ['--seed-file', file]),
    ...(seed === undefined ? [] : ['--seed', seed]),
  ];
  const child = spawn(process.execPath, [BIN, ...words, ...seeding], {
    env: { ...ownEnvironment(), [ENDS_WITH_INPUT]: '1' },
    windowsHide: true,
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await once(child, 'spawn').catch((cause: unknown) => {
    throw new Fault('not_ready', `\`vault serve --dev\` cannot be run (${errorCode(cause) ?? 'unknown error'})`, {
      cause,
    });
  });
  // The child may already have ended.
  child.stdin.on('error', () => undefined);

  /** The daemon stops by itself within 10 s. */
  async function stop(): Promise<void> {
    child.ref();
    child.stdin.end();
    await ended;
  }

  try {
    const { url, tenant_id = '', management_key = '', private_key = '', seed: ids } = await readyFrom(child);
    if (!keepAlive) {
      child.unref();
      (child.stdin as Socket).unref();
    }
    return { url, keys: { tenant_id, management_key, private_key }, ids, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Resolves to the one line that the daemon prints. Its keys reach no file. Rejects with the fault `not_ready`. */
async function readyFrom(child: ChildProcessWithoutNullStreams): Promise<Ready> {
  let [output, errors] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-MAX_ERROR_CHARACTERS);
  });
  const late = setTimeout(() => child.kill('SIGKILL'), MAX_START_MS);
  const ready = await new Promise<Ready | undefined>((resolve) => {
    child.once('close', () => resolve(undefined));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (text.endsWith('\n')) resolve(parseReady(output));
    });
  });
  clearTimeout(late);
  if (ready === undefined) throw new Fault('not_ready', `\`vault serve --dev\` did not start: ${errors.trim()}`);
  return ready;
}
