import { writeFileSync } from 'node:fs';

/**
 * Returns a flag of Node that replaces the wall clock of a process by an expression of `real`, the function of the
 * machine's. The monotonic clock stays. A bound function looks like that of Node, whose mocks the product avoids.
 */
function clockFlag(now: string, rest: string): string {
  const preload = `
    const RealDate = Date, real = Date.now, now = () => ${now};
    ${rest}
    globalThis.Date = class extends RealDate {
      constructor(...parts) { super(...(parts.length === 0 ? [now()] : parts)); }
      static now = now.bind();
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(preload)}`;
}

/**
 * A clock for several processes that runs `speed` times as fast as the machine's from now on, with the repeated timers
 * of a second or more. Other timers stay, so that connections and pauses behave as usual.
 */
export function createFastClock(speed: number): { readonly now: () => number; readonly nodeFlag: string } {
  const start = Date.now();
  const now = () => start + (Date.now() - start) * speed;
  const nodeFlag = clockFlag(
    `Math.floor(${start} + (real() - ${start}) * ${speed})`,
    `const timers = process.getBuiltinModule('node:timers'), every = timers.setInterval;
     timers.setInterval = (work, ms, ...parts) => every(work, ms < 1000 ? ms : ms / ${speed}, ...parts);`,
  );
  return { now, nodeFlag };
}

/** A clock for other processes. `set` puts it that many milliseconds ahead of the machine's, within 20 milliseconds. */
export function createSetClock(file: string): { readonly set: (ahead: number) => void; readonly nodeFlag: string } {
  const set = (ahead: number) => writeFileSync(file, String(ahead));
  set(0);
  const nodeFlag = clockFlag(
    'real() + ahead',
    `let ahead = 0;
     const read = () => {
       const text = process.getBuiltinModule('node:fs').readFileSync(${JSON.stringify(file)}, 'utf8');
       if (text !== '') ahead = Number(text);
     };
     read();
     setInterval(read, 10).unref();`,
  );
  return { set, nodeFlag };
}
