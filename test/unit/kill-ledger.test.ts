import { expect, it } from 'vitest';
import { createLedger } from '../checks/kill-ledger.ts';

const IDS = ['one', 'two', 'three'];
const token = (version: number) => ({ data: { left: version, right: version }, metadata: { version: `${version}` } });

/** Sends a batch of three tokens and finds some of them. Returns the ledger. */
function batchOf(found: readonly string[], isAcknowledged = false) {
  const ledger = createLedger(false);
  ledger.sendsBatch(IDS, 1);
  if (isAcknowledged) ledger.acknowledgesBatch(IDS, 1);
  for (const id of IDS) ledger.finds(id, found.includes(id) ? token(1) : undefined);
  return ledger;
}

it.each([
  ['all', IDS, 1],
  ['none', [], 0],
] as const)('accepts %s of an unanswered batch', (_, found, unanswered_batches) => {
  const ledger = batchOf(found);
  expect(ledger.violations()).toEqual([]);
  expect(ledger.figures()).toMatchObject({ acknowledged: 0, half: 0, batches: 1, unanswered_batches });
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
