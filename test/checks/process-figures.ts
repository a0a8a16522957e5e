import { readdirSync, readFileSync } from 'node:fs';

/** Throws on systems without /proc, so that no check passes without figures. */
function requireLinux(): void {
  if (process.platform !== 'linux')
    throw new Error('descriptors and memory of a process are read from /proc: on Linux only');
}

export function descriptorsOf(pid: number): number {
  requireLinux();
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function residentMiB(pid: number): number {
  return memoryOf(pid, 'VmRSS');
}

/** Returns the most resident memory that a process ever had, in MiB. */
export function peakMiB(pid: number): number {
  return memoryOf(pid, 'VmHWM');
}

function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  requireLinux();
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error('the process has no resident memory: it is gone');
  return Number(kib) / 1024;
}

/** The clock ticks of a second in /proc, which is 100 on every Linux that Node supports. */
const TICKS = 100;

export function processorSeconds(pid: number): number {
  requireLinux();
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
