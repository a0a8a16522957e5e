import { expect, it } from 'vitest';
import type { ApplicationKeyRecord } from '../../src/core/application-ports.ts';
import type { Store } from '../../src/core/ports.ts';
import { createActivity, monthOf } from '../../src/core/tokens/activity.ts';
import { steppingClock } from '../fixed-world.ts';

const NOW = Date.UTC(2026, 2, 1);

it('keeps activity while the disk is full and writes it with the next flush', async () => {
  const written: unknown[] = [];
  let isFull = true;
  const store: Pick<Store, 'markActive'> = {
    markActive: async (tenantId, ids, month) => {
      if (isFull) throw new Error('no space');
      written.push([tenantId, [...ids], month]);
    },
  };
  const activity = createActivity(store as Store, steppingClock(NOW));
  activity.note([{ tenant_id: 't', id: 'one', active_month: 0 }]);
  await activity.flush();
  activity.note([{ tenant_id: 't', id: 'two', active_month: 0 }]);
  isFull = false;
  await activity.flush();
  expect(written).toEqual([['t', ['one', 'two'], monthOf(NOW)]]);
  await activity.flush();
  expect(written).toHaveLength(1);
});

it('writes the use of a key once a day, and again after the uses of 10,000 other keys', async () => {
  const written: string[] = [];
  const store: Pick<Store, 'markKeysUsed'> = { markKeysUsed: async (_tenantId, ids) => void written.push(...ids) };
  const clock = steppingClock(NOW);
  const activity = createActivity(store as Store, clock);
  const use = async (id: string) => {
    activity.noteKey({ tenant_id: 't', id, created_at: NOW, last_used_day: 0 } as ApplicationKeyRecord);
    await activity.flush();
    return written.splice(0);
  };
  expect([await use('own'), await use('own')]).toEqual([['own'], []]);
  for (let n = 0; n < 10_000; n++) await use(`key-${n}`);
  expect([await use('own'), await use('own')]).toEqual([['own'], []]);
  clock.advance(86_400_000);
  expect(await use('own')).toEqual(['own']);
});
