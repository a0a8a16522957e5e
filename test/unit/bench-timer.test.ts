import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { REST, timed, timedFactory, timedMethods, timeSteps } from '../../scripts/bench-timer.js';

let time = 0;

const spend = (ms: number) => {
  time += ms;
};

async function stepsOf(work: () => unknown): Promise<Record<string, number>> {
  const found: Map<string, number> = await timeSteps(
    async () => work(),
    () => time,
  );
  return Object.fromEntries(found);
}

describe('the timers of the steps', () => {
  it('count a step, what it calls included, and the rest', async () => {
    const inner = timed('inner', () => spend(20));
    const outer = timed('outer', () => {
      spend(20);
      inner();
    });
    expect(
      await stepsOf(() => {
        spend(20);
        outer();
        inner();
      }),
    ).toEqual({ [REST]: 20, outer: 40, inner: 20 });
  });

  it('split the time of a store by what it calls', async () => {
    const commit = timed('commit', () => spend(20));
    const write = timed('store', async () => {
      spend(1);
      await sleep(1);
      spend(40);
      commit();
    });
    const absorbed = timed('audit', () => commit());
    const found = await stepsOf(async () => {
      await write();
      absorbed();
    });
    expect(found).toEqual({ [REST]: 0, store: 41, commit: 20, audit: 20 });
  });

  it('leave results, errors and the object behind a method as they are', async () => {
    const object = { factor: 3, times: (n: number) => object.factor * n, fail: () => Promise.reject(new Error('no')) };
    const wrapped = timedMethods(object, { times: 'times', fail: 'fail' });
    const made: { readonly n: number; add(m: number): number } = timedFactory('made', (n: number) => ({
      n,
      add: (m: number) => n + m,
    }))(2);
    const seen: unknown[] = [];
    await timeSteps(async () => {
      seen.push(wrapped.times(2), made.n, made.add(5), await wrapped.fail().catch(String));
    });
    expect(seen).toEqual([6, 2, 7, 'Error: no']);
  });

  it('count nothing when they are off', async () => {
    const step = timed('step', () => spend(20));
    step();
    expect(await stepsOf(() => spend(5))).toEqual({ [REST]: 5 });
  });
});
