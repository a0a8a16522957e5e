/**
 * The timers and the clock of the machine, also in a program whose test runner replaces the global ones. Node keeps its
 * timers in `node:timers`, which fake timers of jest and vitest leave alone. Browsers have only global ones. A vault in
 * the same process as its test would otherwise wait for ever. All of `src` imports them from here; an architecture test
 * forbids the globals elsewhere.
 */

type Task = () => void;
/** A task of `setImmediate`, or a timer of Node. */
export interface TaskHandle {
  unref(): this;
}
type Scheduled = 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval';

interface Timers extends Pick<typeof globalThis, Scheduled> {
  setImmediate(task: Task): TaskHandle;
  clearImmediate(task: TaskHandle | undefined): void;
}

/** The parts of `node:process` that this module uses; the page of the console is compiled without Node's types. */
interface NodeProcess {
  nextTick(task: Task): void;
  uptime(): number;
  getBuiltinModule?(name: 'node:timers'): Timers;
  getBuiltinModule?(name: 'node:process'): NodeProcess;
  getBuiltinModule?(name: 'node:vm'): { runInNewContext(code: string): () => number };
}

const { process: node } = globalThis as object as { readonly process?: NodeProcess };
const timers: Timers = node?.getBuiltinModule?.('node:timers') ?? (globalThis as object as Timers);

/**
 * Returns the function that a fake replaced. Sinon changes `node:timers` itself when CommonJS loads it, and keeps the
 * original in its clock. node:test binds its mocks and keeps the originals private: throws a `TypeError`, because every
 * call would wait for ever.
 */
function original<Owner extends object, Name extends string & keyof Owner>(owner: Owner, name: Name): Owner[Name] {
  const found = owner[name] as Owner[Name] & {
    readonly name?: string;
    readonly clock?: Readonly<Record<string, Owner[Name] | undefined>>;
  };
  if (found?.name?.startsWith('bound #')) throw new TypeError('import token-vault before mock.timers.enable()');
  return found?.clock?.[`_${name}`] ?? found;
}

/** The timers behind the functions below. Only tests of the product replace them, to move its time. */
export const machineTimers: Timers = {
  setTimeout: original(timers, 'setTimeout'),
  clearTimeout: original(timers, 'clearTimeout'),
  setInterval: original(timers, 'setInterval'),
  clearInterval: original(timers, 'clearInterval'),
  setImmediate: original(timers, 'setImmediate'),
  clearImmediate: original(timers, 'clearImmediate'),
};

/** Returns a function that calls the current timer of that name. */
function current<Name extends keyof Timers>(name: Name): Timers[Name] {
  const call = (...args: readonly unknown[]): unknown => Reflect.apply(machineTimers[name], undefined, args);
  return call as Timers[Name];
}

export const setTimeout = current('setTimeout');
export const clearTimeout = current('clearTimeout');
export const setInterval = current('setInterval');
export const clearInterval = current('clearInterval');
export const setImmediate = current('setImmediate');
export const clearImmediate = current('clearImmediate');

/** Runs the task after the current one and all settled promises. jest fakes only its copy of `process`. */
export const nextTick = original(node?.getBuiltinModule?.('node:process') ?? { nextTick: queueTask }, 'nextTick');

function queueTask(task: Task): void {
  void Promise.resolve().then(task);
}

/** The class of dates as it is when this module loads. A test may replace the global one, even by a single date. */
export const MachineDate = Date;

/** Returns the milliseconds since 1970 by the machine's clock, whatever a test makes of `Date`. */
export const wallTime: () => number = machineNow();

/** Returns `Date.now` as it is when this module loads, or that of a new realm if it is already mocked. */
function machineNow(): () => number {
  const { now } = Date;
  const isNative = Function.prototype.toString.call(now).includes('[native code]');
  return isNative ? now : (node?.getBuiltinModule?.('node:vm').runInNewContext('Date.now') ?? now);
}

/** Resolves after `ms` milliseconds. With `ref` false, the wait does not keep the process alive. */
export function sleep(ms: number, { ref = true } = {}): Promise<void> {
  return new Promise((resolve) => {
    const timer: unknown = setTimeout(resolve, ms);
    if (!ref) (timer as TaskHandle).unref();
  });
}

/** Resolves after this tick of the event loop. */
export function endOfTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Returns the milliseconds since this process started, with fractions, by a monotonic clock. `performance` reads the
 * same clock, but Node needs two milliseconds to load it.
 */
export const runningTime = (): number => (node?.uptime() ?? 0) * 1000;
