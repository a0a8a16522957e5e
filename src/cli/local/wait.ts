import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { httpTransport } from '../../client/http-transport.ts';
import { Fault } from '../../core/fault.ts';
import type { Finish } from '../exit-codes.ts';
import { addFlags, DAEMON_FLAGS, flagValue, typedFlags } from '../global-flags.ts';
import { parseDuration } from './duration.ts';

const DEFAULT_URL = 'http://127.0.0.1:8484';
const PAUSE_MS = 100;
const WAIT_FLAGS = {
  timeout: { flag: '--timeout <duration>', env: 'VAULT_TIMEOUT', help: 'such as 500ms, 30s or 2m (default: 30s)' },
} as const;

/** `vault wait`: returns when the daemon answers `/readyz`, and fails when it did not in time. */
export function defineWait(command: Command, finish: Finish): void {
  addFlags(command, { ...WAIT_FLAGS, url: DAEMON_FLAGS.url });
  command.action(async () => {
    const flags = typedFlags<{ readonly timeout?: string }>(command);
    const timeout = flagValue(flags.timeout, process.env, WAIT_FLAGS.timeout) ?? '30s';
    const url = flagValue(flags.url, process.env, DAEMON_FLAGS.url) ?? DEFAULT_URL;
    await waitUntilReady(url, parseDuration('--timeout', timeout), timeout);
    finish(0);
  });
}

async function waitUntilReady(url: string, timeoutMs: number, timeout: string): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let seen = 'nobody answers';
  for (;;) {
    const left = deadline - performance.now();
    if (left <= 0) throw new Fault('not_ready', `${url} was not ready within ${timeout}: ${seen}`);
    seen = await askOnce(url, Math.min(left, 2000));
    if (seen === '') return;
    await sleep(Math.min(PAUSE_MS, Math.max(0, deadline - performance.now())));
  }
}

/** Answers why the daemon is not ready, or nothing when it is. A connection of its own each time: the last one may hang. */
async function askOnce(url: string, timeoutMs: number): Promise<string> {
  const transport = httpTransport(url, timeoutMs);
  try {
    const { status } = await transport.send({ method: 'GET', path: '/readyz', headers: {} });
    return status === 200 ? '' : `it answers ${status}`;
  } catch (error) {
    if (error instanceof Fault && error.code === 'unreachable') return 'nobody answers';
    throw error;
  } finally {
    await transport.close();
  }
}
