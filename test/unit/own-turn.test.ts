import { afterEach, expect, it, vi } from 'vitest';
import { nextTurn, ownTurn } from '../../src/core/own-turn.ts';

afterEach(() => vi.restoreAllMocks());

/** Resolves in the next turn of the event loop. */
const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));

it('gives one turn at a time, and lines alternate', async () => {
  let turn = 0;
  const given: [line: string, turn: number][] = [];
  const wait = async (line: string) => {
    await ownTurn(line);
    given.push([line, turn]);
  };
  const waiting = Promise.all(['a', 'a', 'a', 'b', 'c', 'b'].map(wait));
  for (; given.length < 6; turn++) await immediate();
  await waiting;
  expect(given.map(([line]) => line).join('')).toBe('abcaba');
  expect(new Set(given.map(([, at]) => at)).size).toBe(6);
});

it('asks for another turn once the turn took 10 ms, whatever took them', async () => {
  await immediate();
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  expect(nextTurn()).toBeUndefined();
  seconds += 0.009;
  expect(nextTurn()).toBeUndefined();
  seconds += 0.002;
  const turn = nextTurn();
  expect(turn).toBeInstanceOf(Promise);
  await turn;
  await immediate();
  expect(nextTurn()).toBeUndefined();
});
