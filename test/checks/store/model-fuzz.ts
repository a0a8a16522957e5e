import type { Check } from '../check.ts';
import { requireAgreement } from '../model-fuzz.ts';
import { withServer } from './with-server.ts';

const STEPS = { quick: 1_000, full: 100_000 } as const;

/** Sends each random call to one of two daemons; the file target and the model must agree with it. */
const run = (seed: number, steps: number, isStale = false) =>
  withServer((openStores) => requireAgreement({ seed, steps, openStores }), isStale);

export const CHECK: Check = {
  number: 23,
  name: 'model fuzz over two daemons',
  quick: true,
  runs: 'early',
  run: ({ seed, quick }) => run(seed, STEPS[quick ? 'quick' : 'full']),
  // One daemon never sees changes of keys, rules and tenants, so a reply must differ.
  control: ({ seed }) => run(seed, STEPS.quick, true),
};
