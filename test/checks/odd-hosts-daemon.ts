import { setTimeout as sleep } from 'node:timers/promises';
import type { DaemonProcess, End } from './daemon-process.ts';

/** Resolves to the end of a daemon, or to `late` after `ms` milliseconds; then kills it. */
export async function endWithin({ child, ended }: Pick<DaemonProcess, 'child' | 'ended'>, ms: number): Promise<End> {
  const stop = new AbortController();
  const late = sleep(ms, 'late', { signal: stop.signal }).catch(() => 'late');
  const end = await Promise.race([ended, late]);
  stop.abort();
  if (end === 'late') child.kill('SIGKILL');
  return end;
}

export async function isAnswering(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(5_000);
  return fetch(`${url}/livez`, { signal, headers: { connection: 'close' } }).then(
    ({ ok }) => ok,
    () => false,
  );
}
