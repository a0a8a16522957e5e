import { readdirSync, readFileSync } from 'node:fs';

type Figure = string | number | boolean | undefined;

/**
 * A result line. `bench` and `case` are its stable name. Lines with a `ratio` are compared; `better` is the direction of
 * improvement.
 */
export interface Line {
  readonly bench: string;
  readonly case: string;
  readonly ratio?: number;
  readonly better?: 'higher' | 'lower';
  readonly target?: number;
  readonly reached?: boolean;
  readonly [figure: string]: Figure;
}

/** The members of a result line. Those that are undefined or NaN are unknown. */
type Figures = Readonly<Record<string, Figure>> & {
  readonly ratio?: number | undefined;
  readonly better?: Line['better'];
  readonly target?: number | undefined;
};

/** The result of a case of the benchmark. */
export interface CaseResult {
  readonly title: string;
  readonly rows: readonly Line[];
  readonly failed?: boolean;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/**
 * Returns the median of the values. For an even number of values, returns the mean of the two middle ones. Returns NaN
 * when a value is unknown, and for no values.
 */
export function median(values: readonly number[]): number {
  if (values.some(Number.isNaN)) return Number.NaN;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = low] = sorted.subarray(middle - 1 + (sorted.length % 2), middle + 1);
  return (low + high) / 2;
}

/** Rounds to three significant digits: 0.4321 → 0.432; 12345 stays. */
export function rounded(value: number): number {
  return Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3));
}

/** Returns at most `count` values from the whole list, in random order. */
export function sample<T>(values: readonly T[], count: number): T[] {
  const step = Math.max(1, values.length / count);
  const places = Array.from({ length: Math.min(count, values.length) }, (_, at) => Math.floor(at * step));
  const shuffled = places.map((place) => ({ place, order: Math.random() })).sort((a, b) => a.order - b.order);
  return shuffled.flatMap(({ place }) => values.slice(place, place + 1));
}

/** Returns a result line without the unknown figures. */
export function line(bench: string, name: string, figures: Figures): Line {
  const { ratio = Number.NaN, better = 'higher', target, ...others } = figures;
  const judged = Number.isNaN(ratio) ? {} : { ratio: rounded(ratio), better };
  const limit = target ?? Number.NaN;
  const reached = better === 'higher' ? rounded(ratio) >= limit : rounded(ratio) <= limit;
  const known = Object.entries(others).filter(([, value]) => value !== undefined && !Number.isNaN(value));
  const rest = known.map(([member, value]) => [member, typeof value === 'number' ? rounded(value) : value]);
  return { bench, case: name, ...judged, ...(target && { target, reached }), ...Object.fromEntries(rest) };
}

/** Returns a result line of a figure in a unit, such as `mb`, which may be at most `target`. */
export function limitLine(
  bench: string,
  name: string,
  unit: string,
  { value, target, ...figures }: Figures & { readonly value: number; readonly target: number },
): Line {
  const reached = Number.isNaN(value) ? undefined : rounded(value) <= target;
  return line(bench, name, { [unit]: value, [`target_${unit}`]: target, reached, ...figures });
}

/** Clock ticks per second in `/proc`, equal on every architecture that Node supports. */
const TICKS = 100;
const onLinux = process.platform === 'linux';

/** Reads a file of `/proc`; empty for a thread that has just ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '0';
  }
}

/** Returns the processor seconds of a process, its threads and its running children. NaN outside Linux. */
export function processorSeconds(pid: number): number {
  if (!onLinux) return Number.NaN;
  const seconds = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const task = `/proc/${pid}/task/${thread}`;
    const children = read(`${task}/children`).split(' ').map(Number).filter(Boolean).map(processorSeconds);
    return children.reduce((sum, each) => sum + each, Number(read(`${task}/schedstat`).split(' ')[0]) / 1e9);
  });
  return seconds.reduce((sum, each) => sum + each, 0);
}

/** Returns the processor seconds of a process's ended children, to a hundredth. NaN outside Linux. */
export function endedChildrenSeconds(pid: number | 'self' = 'self'): number {
  if (!onLinux) return Number.NaN;
  // In proc(5), cutime and cstime follow the name, which may contain spaces.
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** Returns the peak of a process's resident memory in bytes. NaN outside Linux. */
export function peakResidentBytes(pid: number): number {
  const kilobytes = onLinux ? read(`/proc/${pid}/status`).match(/^VmHWM:\s+(\d+) kB/m)?.[1] : undefined;
  return Number(kilobytes) * 1024;
}
