import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** What another process has used. Linux tells it exactly, other systems by `ps`, Windows not at all: then it is undefined. */

/** Seconds of processor time, all threads together; on Linux with the processes that it has started and that still run. */
export function processorSeconds(pid) {
  if (process.platform === 'linux') {
    const threads = readdirSync(`/proc/${pid}/task`);
    const seconds = threads.map((thread) => {
      const task = `/proc/${pid}/task/${thread}`;
      const children = read(`${task}/children`).split(' ').filter(Number).map(processorSeconds);
      return children.reduce((sum, each) => sum + each, Number(read(`${task}/schedstat`).split(' ')[0]) / 1e9);
    });
    return seconds.reduce((sum, each) => sum + each, 0);
  }
  const time = ps(pid, 'time');
  return time?.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Clock ticks a second in `/proc`: the same on all architectures that Node runs on. */
const TICKS = 100;

/** Seconds of processor time of this process's children that have ended; only Linux tells. Exact to a hundredth. */
export function endedChildrenSeconds() {
  if (process.platform !== 'linux') return undefined;
  // Behind the name, which may hold anything: cutime and cstime are fields 16 and 17 of proc(5), the name is the second.
  const fields = read('/proc/self/stat')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** Bytes in memory: now, and the most so far where the system keeps it. */
export function residentBytes(pid) {
  if (process.platform === 'linux') {
    const status = read(`/proc/${pid}/status`);
    const kilobytes = (name) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'))?.[1]);
    return { now: kilobytes('VmRSS') * 1024, most: kilobytes('VmHWM') * 1024 };
  }
  const kilobytes = ps(pid, 'rss');
  return kilobytes === undefined ? undefined : { now: Number(kilobytes) * 1024, most: undefined };
}

/** A thread that has just ended has no file any more. */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '0';
  }
}

function ps(pid, column) {
  if (process.platform === 'win32') return undefined;
  return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' }).trim();
}
