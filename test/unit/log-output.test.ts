import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createLogOutput } from '../../src/core/log-output.ts';

/** A stream whose reader reads only when asked. */
class SlowStream extends EventEmitter {
  writableLength = 0;
  writableNeedDrain = false;
  written = '';

  write(text: string): boolean {
    this.written += text;
    this.writableLength += text.length;
    this.writableNeedDrain = true;
    return false;
  }

  read(): void {
    this.writableLength = 0;
    this.writableNeedDrain = false;
    this.emit('drain');
  }
}

const LOSS = (lines: number) =>
  new RegExp(`^\\{"time":"[^"]+","level":"error","error":"log_lines_dropped","lines":${lines}\\}\\n$`);

function start(most: number) {
  const stream = new SlowStream();
  return { stream, write: createLogOutput(() => stream, most) };
}

describe('the log of a slow reader', () => {
  it('waits up to the limit; then lines are dropped, and counted when the reader has caught up', () => {
    const { stream, write } = start(10);
    for (const text of ['aaaa\n', 'bbbb\n', 'c\n', 'd\ne\n']) write(text);
    expect(stream).toMatchObject({ written: 'aaaa\nbbbb\n', writableLength: 10 });
    stream.written = '';
    stream.read();
    expect(stream.written).toMatch(LOSS(3));
    stream.read();
    write('f\n');
    expect(stream.written).toMatch(/\nf\n$/);
    expect(stream.listenerCount('drain')).toBe(0);
  });

  it('has no hole between kept lines: all lines are dropped until the reader has caught up', () => {
    const { stream, write } = start(10);
    for (const text of ['aaaa\n', 'bbbbbbbbb\n', 'c\n']) write(text);
    expect(stream.written).toBe('aaaa\n');
    stream.read();
    expect(stream.written.slice('aaaa\n'.length)).toMatch(LOSS(2));
  });

  it('gets a long text if nothing waits', () => {
    const { stream, write } = start(10);
    write(`${'x'.repeat(20)}\n`);
    expect(stream.written).toHaveLength(21);
  });

  it('is written again after a long text that came while a little waited', async () => {
    let [written, next] = ['', (): void => undefined];
    const stream = new Writable({
      highWaterMark: 10,
      decodeStrings: false,
      write(text: string, _, done) {
        written += text;
        next = () => void done();
      },
    });
    const write = createLogOutput(() => stream, 20);
    write('a\n');
    write(`${'b'.repeat(30)}\n`);
    while (stream.writableLength > 0) {
      next();
      await new Promise(setImmediate);
    }
    write('c\n');
    expect(written).toMatch(/c\n$/);
  });

  it('a stream that writes at once gets everything', () => {
    const written: string[] = [];
    const stream = { write: (text: string) => written.push(text) > 0, once: () => undefined };
    const write = createLogOutput(() => stream, 1);
    for (const text of ['aa\n', 'bb\n']) write(text);
    expect(written).toEqual(['aa\n', 'bb\n']);
  });
});
