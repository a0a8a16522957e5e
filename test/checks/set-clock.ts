import { writeFileSync } from 'node:fs';

/**
 * A wall clock for other processes of the product. `set` puts it that many milliseconds ahead of the machine's, within
 * 20 milliseconds. The monotonic clock stays. A bound function looks like that of Node, whose mocks the product avoids.
 */
export function createSetClock(file: string): { readonly set: (ahead: number) => void; readonly nodeFlag: string } {
  const set = (ahead: number) => writeFileSync(file, String(ahead));
  set(0);
  const preload = `
    import { readFileSync } from 'node:fs';
    const RealDate = Date, real = Date.now;
    let ahead = 0;
    const read = () => {
      const text = readFileSync(${JSON.stringify(file)}, 'utf8');
      if (text !== '') ahead = Number(text);
    };
    read();
    setInterval(read, 10).unref();
    globalThis.Date = class extends RealDate {
      constructor(...parts) { super(...(parts.length === 0 ? [real() + ahead] : parts)); }
      static now = (() => real() + ahead).bind();
    };`;
  return { set, nodeFlag: `--import=data:text/javascript,${encodeURIComponent(preload)}` };
}
