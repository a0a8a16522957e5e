import { expect, it } from 'vitest';
import { createExpectedState } from '../checks/kill-writer.ts';

const IDS = ['one', 'two', 'three'];
const token = (version: number) => ({ data: { left: version, right: version }, metadata: { version: `${version}` } });

/** Sends a batch of three tokens and finds some of them. Returns the expected state. */
function batchOf(found: readonly string[], isAcknowledged = false) {
  const expected = createExpectedState(false);
  expected.sendsBatch(IDS, 1);
  if (isAcknowledged) expected.acknowledgesBatch(IDS, 1);
  for (const id of IDS) expected.finds(id, found.includes(id) ? token(1) : undefined);
  return expected;
}

it.each([
  ['all', IDS, 1],
  ['none', [], 0],
] as const)('accepts %s of an unanswered batch', (_, found, unanswered_batches) => {
  const expected = batchOf(found);
  expect(expected.violations()).toEqual([]);
  expect(expected.figures()).toMatchObject({ acknowledged: 0, half: 0, batches: 1, unanswered_batches });
});

it.each([[['one']], [['three']], [['one', 'two']], [['two', 'three']]])(
  'reports %j of an unanswered batch',
  (found) => {
    expect(batchOf(found).figures().half).toBeGreaterThan(0);
  },
);

it('counts one acknowledgement for a batch, and reports each token that is lost', () => {
  expect(batchOf(IDS, true).figures()).toMatchObject({ acknowledged: 1, lost: 0, half: 0 });
  expect(batchOf(['two'], true).figures()).toMatchObject({ acknowledged: 1, lost: 2, half: 0 });
});
