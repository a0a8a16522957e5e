import { afterEach, expect, it, vi } from 'vitest';
import { endAtSignals, endBySignals, takeSignals } from '../../src/cli/exit/interrupt.ts';

afterEach(() => {
  takeSignals();
  vi.restoreAllMocks();
});

it('a signal exits with its code, and kills the process itself only while a read may block', () => {
  const done: unknown[] = [];
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    done.push(['exits', code]);
    throw new Error('nothing is done after that');
  });
  vi.spyOn(process, 'kill').mockImplementation(((...what: unknown[]) => done.push(['kill', ...what])) as never);
  const emit = process.emit.bind(process) as (...what: unknown[]) => boolean;
  const emitted = (...what: unknown[]) => (what[0] === 'exit' ? done.push(what) > 0 : emit(...what));
  vi.spyOn(process, 'emit').mockImplementation(emitted as never);
  const sent = () => {
    done.length = 0;
    endAtSignals();
    try {
      process.listeners('SIGINT').at(-1)?.('SIGINT');
    } catch {
      done.push('gone');
    }
    return [...done];
  };
  const [first, second] = [endBySignals(), endBySignals()];
  first();
  // The handler removes itself before it sends the signal again.
  const others = process.listenerCount('SIGINT');
  expect(sent()).toEqual([
    ['exit', 130],
    ['kill', process.pid, 'SIGINT'],
  ]);
  expect(process.listenerCount('SIGINT')).toBe(others);
  second();
  expect(sent()).toEqual([['exits', 130], 'gone']);
});
