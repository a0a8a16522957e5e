import { expect, it } from 'vitest';
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
