/**
 * A clock for several processes that runs `speed` times as fast as the machine's from now on, with the repeated timers
 * of a second or more. Other timers and the monotonic clock stay, so that connections and pauses behave as usual.
 */
export function createFastClock(speed: number): { readonly now: () => number; readonly nodeFlag: string } {
  const start = Date.now();
  const now = () => start + (Date.now() - start) * speed;
  const preload = `
    import timers from 'node:timers';
    const RealDate = Date, real = Date.now, every = timers.setInterval;
    const now = () => Math.floor(${start} + (real() - ${start}) * ${speed});
    globalThis.Date = class extends RealDate {
      constructor(...parts) { super(...(parts.length === 0 ? [now()] : parts)); }
      static now = now.bind();
    };
    timers.setInterval = (work, ms, ...parts) => every(work, ms < 1000 ? ms : ms / ${speed}, ...parts);`;
  return { now, nodeFlag: `--import=data:text/javascript,${encodeURIComponent(preload)}` };
}
