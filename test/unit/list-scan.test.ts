import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Core, openCore, partOfSegment, rule, tenantsWith } from './core-fixture.ts';

afterEach(() => vi.restoreAllMocks());

/** Counts the rows and bytes that are opened in each turn of the event loop while `watch` runs. */
function watchOpening() {
  let turns: number[] = [0];
  let bytes: number[] = [0];
  let isOver = false;

  const keyringOf = tenantsWith(({ open }) => ({
    open(context, sealed) {
      if (context.table === 'token' && context.column === 'presented')
        turns[turns.length - 1] = (turns.at(-1) ?? 0) + 1;
      else bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) + sealed.length;
      return open(context, sealed);
    },
  }));

  async function watch(work: () => Promise<unknown>) {
    [turns, bytes, isOver] = [[0], [0], false];
    const next = () => {
      if (isOver) return;
      turns.push(0);
      bytes.push(0);
      setImmediate(next);
    };
    setImmediate(next);
    await work();
    isOver = true;
    const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
    return { rows: sum(turns), rowsAtOnce: Math.max(...turns), bytesAtOnce: Math.max(...bytes) };
  }

  return { keyringOf, watch };
}

/** Lists once. `core.call` would list a second time to compare. */
const listOnce = ({ client }: Core, apiKey: string) =>
  client.call({ operation: 'listTokens', apiKey, params: {}, query: [] });

describe('a list by a rule on a part of a segment', () => {
  it('opens each token once, 200 in a turn, and those of the page again', async () => {
    const { keyringOf, watch } = watchOpening();
    const core = await openCore({ keyringOf });
    const key = await partOfSegment(core);
    const list = () => watch(() => listOnce(core, key));
    for (const count of [400, 800]) {
      for (let n = 0; n < 400; n++) await core.token({ type: 'token', data: 1, containers: ['/qa/'] });
      const { rows, rowsAtOnce } = await list();
      // A page has 20 tokens.
      expect([rows, rowsAtOnce]).toEqual([count + 20, 200]);
    }
  });

  it('of two applications opens no more in a turn', async () => {
    const { keyringOf, watch } = watchOpening();
    const core = await openCore({ keyringOf });
    for (let n = 0; n < 400; n++) await core.token({ type: 'token', data: 1, containers: ['/qa/'] });
    const keys = [await partOfSegment(core), await partOfSegment(core)];
    const { rows, rowsAtOnce } = await watch(() => Promise.all(keys.map((key) => listOnce(core, key))));
    expect(rows).toBe(2 * 420);
    // The page of one application and the slice of the other.
    expect(rowsAtOnce).toBeLessThanOrEqual(220);
  });
});

describe('a page with much data', () => {
  it('opens at most about 1 MiB in a turn for all callers together', async () => {
    const { keyringOf, watch } = watchOpening();
    const core = await openCore({ keyringOf });
    for (let n = 0; n < 12; n++) await core.token({ type: 'token', data: 'x'.repeat(300_000) });
    const other = await core.application({ name: 'other', type: 'private', rules: [rule({})] });
    const keys = [core.key, core.key, other, other];
    // On a busy machine, slices would also end by time, in the middle of what is counted.
    vi.spyOn(process, 'uptime').mockReturnValue(1);
    const { bytesAtOnce } = await watch(() => Promise.all(keys.map((key) => core.call(key, 'listTokens'))));
    expect(bytesAtOnce).toBeLessThan(1.5 * 1024 * 1024);
  });
});
