import { readdirSync, readFileSync } from 'node:fs';

export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Returns the median of the values. For an even number of values, returns the mean of the two middle ones. */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Rounds to three significant digits: 0.4321 → 0.432; 12345 stays. */
export function rounded(value) {
  return Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3));
}

/** Returns at most `count` values from the whole list, in random order. */
export function sample(values, count) {
  const step = Math.max(1, values.length / count);
  const kept = Array.from({ length: Math.min(count, values.length) }, (_, at) => values[Math.floor(at * step)]);
  for (let at = kept.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [kept[at], kept[other]] = [kept[other], kept[at]];
  }
  return kept;
}

/**
 * Returns a result line. `bench` and `case` are its stable name. Lines with a `ratio` are compared; `better` is the
 * direction of improvement. Undefined members are omitted.
 */
export function line(bench, name, { ratio, better = 'higher', target, ...figures }) {
  const judged = ratio === undefined ? {} : { ratio: rounded(ratio), better };
  const reached = better === 'higher' ? judged.ratio >= target : judged.ratio <= target;
  const known = Object.entries(figures).filter(([, value]) => value !== undefined);
  const rest = known.map(([member, value]) => [member, typeof value === 'number' ? rounded(value) : value]);
  return { bench, case: name, ...judged, ...(target && { target, reached }), ...Object.fromEntries(rest) };
}

/** Returns a result line of a figure in a unit, such as `mb`, which may be at most `target`. */
export function limitLine(bench, name, unit, { value, target, ...figures }) {
  const reached = value === undefined ? undefined : rounded(value) <= target;
  return line(bench, name, { [unit]: value, [`target_${unit}`]: target, reached, ...figures });
}

/** Clock ticks per second in `/proc`, equal on every architecture that Node supports. */
const TICKS = 100;
const onLinux = process.platform === 'linux';

/** Reads a file of `/proc`; empty for a thread that has just ended. */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '0';
  }
}

/** Returns the processor seconds of a process, its threads and its running children. Undefined outside Linux. */
export function processorSeconds(pid) {
  if (!onLinux) return undefined;
  const seconds = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const task = `/proc/${pid}/task/${thread}`;
    const children = read(`${task}/children`).split(' ').filter(Number).map(processorSeconds);
    return children.reduce((sum, each) => sum + each, Number(read(`${task}/schedstat`).split(' ')[0]) / 1e9);
  });
  return seconds.reduce((sum, each) => sum + each, 0);
}

/** Returns the processor seconds of a process's ended children, to a hundredth. Undefined outside Linux. */
export function endedChildrenSeconds(pid = 'self') {
  if (!onLinux) return undefined;
  // In proc(5), cutime and cstime follow the name, which may contain spaces.
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** Returns the peak of a process's resident memory in bytes. Undefined outside Linux. */
export function peakResidentBytes(pid) {
  const kilobytes = onLinux ? read(`/proc/${pid}/status`).match(/^VmHWM:\s+(\d+) kB/m)?.[1] : undefined;
  return kilobytes && Number(kilobytes) * 1024;
}
