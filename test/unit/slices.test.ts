import { afterEach, expect, it, vi } from 'vitest';
import { afterArrivals, nextSlice, noteArrival, ownSlice } from '../../src/core/slices.ts';
import { openCore } from './core-fixture.ts';

afterEach(() => vi.restoreAllMocks());

/** Resolves in the next turn of the event loop. */
const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));

it('gives one turn at a time, and lines alternate', async () => {
  let turn = 0;
  const given: [line: string, turn: number][] = [];
  const wait = async (line: string) => {
    await ownSlice(line);
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
  expect(nextSlice()).toBeUndefined();
  seconds += 0.009;
  expect(nextSlice()).toBeUndefined();
  seconds += 0.002;
  const turn = nextSlice();
  expect(turn).toBeInstanceOf(Promise);
  await turn;
  await immediate();
  expect(nextSlice()).toBeUndefined();
});

it('lets connections arrive first, one in a turn, for 40 ms at most', async () => {
  await immediate();
  await immediate();
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const turnsUntilRun = async (arriving: number) => {
    let [turn, ran] = [0, false];
    afterArrivals(() => {
      ran = true;
    });
    for (; !ran; turn++) {
      if (turn < arriving) noteArrival();
      seconds += 0.005;
      await immediate();
    }
    return turn;
  };
  expect(await turnsUntilRun(0)).toBe(1);
  // The request of the last connection arrives after it.
  expect(await turnsUntilRun(3)).toBe(5);
  await immediate();
  expect(await turnsUntilRun(100)).toBe(10);
});

const CREATE = { idempotencyKey: 'same', bodyText: '{"id":"own","type":"token","data":1}' };

it.each([
  ['getToken', { params: { id: 'own' } }],
  // Calls with the same key are replays of the first one.
  ['createToken', CREATE],
] as const)('gives each %s a turn of its own on a busy machine', async (operation, parts) => {
  const core = await openCore();
  expect(await core.own('createToken', CREATE)).toMatchObject({ status: 201 });
  let turn = 0;
  const ended: number[] = [];
  const call = async () => {
    const sent = { operation, apiKey: core.key, mediaType: 'application/json', params: {}, query: [], ...parts };
    const { status } = await core.client.call(sent);
    ended.push(turn);
    return status;
  };
  let seconds = 0;
  vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += 0.02));
  const calls = Promise.all(Array.from({ length: 16 }, call));
  for (; ended.length < 16; turn++) await immediate();
  expect(new Set(await calls)).toEqual(new Set([operation === 'getToken' ? 200 : 201]));
  // On a loaded machine, two of them may end together.
  expect(new Set(ended).size).toBeGreaterThan(8);
});
