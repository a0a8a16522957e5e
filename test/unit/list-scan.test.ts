import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Core, openCore, partOfSegment, rule, tenantsWith } from './core-fixture.ts';

afterEach(() => vi.restoreAllMocks());

/**
 * Returns a keyring that counts the tokens and the bytes that each turn of the event loop opens. A turn is known by
 * libuv's count of them, because an immediate of the test may run before or after the product's.
 */
function watchOpening() {
  const rows = new Map<number, number>();
  const bytes = new Map<number, number>();
  const add = (counts: Map<number, number>, value: number) => {
    const turn = performance.nodeTiming.uvMetricsInfo.loopCount;
    counts.set(turn, (counts.get(turn) ?? 0) + value);
  };

  const keyringOf = tenantsWith(({ open }) => ({
    open(context, sealed) {
      if (context.table === 'token' && context.column === 'presented') add(rows, 1);
      else add(bytes, sealed.length);
      return open(context, sealed);
    },
  }));

  async function watch(work: () => Promise<unknown>) {
    rows.clear();
    bytes.clear();
    await work();
    const all = [...rows.values()];
    return {
      rows: all.reduce((a, b) => a + b, 0),
      rowsAtOnce: Math.max(...all),
      bytesAtOnce: Math.max(...bytes.values()),
    };
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
  it('opens at most two slices of about 1 MiB in a turn for all callers together', async () => {
    const { keyringOf, watch } = watchOpening();
    const core = await openCore({ keyringOf });
    for (let n = 0; n < 12; n++) await core.token({ type: 'token', data: 'x'.repeat(300_000) });
    const other = await core.application({ name: 'other', type: 'private', rules: [rule({})] });
    const keys = [core.key, core.key, other, other];
    // On a busy machine, slices would also end by time, in the middle of what is counted.
    vi.spyOn(process, 'uptime').mockReturnValue(1);
    const { bytesAtOnce } = await watch(() => Promise.all(keys.map((key) => core.call(key, 'listTokens'))));
    // Slices begin with immediates. Work that began before those of its turn shares the turn with the first slice.
    expect(bytesAtOnce).toBeLessThan(2.5 * 1024 * 1024);
  });
});
