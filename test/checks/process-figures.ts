import { readdirSync, readFileSync } from 'node:fs';

/** Open descriptors of a process (Linux); undefined elsewhere. */
export function descriptorsOf(pid: number): number | undefined {
  return process.platform === 'linux' ? readdirSync(`/proc/${pid}/fd`).length : undefined;
}

/** Resident memory of a process in MiB (Linux); undefined elsewhere. */
export function residentMiB(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kib === undefined ? undefined : Number(kib) / 1024;
}
