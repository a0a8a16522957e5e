import type { Check, CheckOptions } from '../check.ts';
import { APPLICANTS } from '../permission-applicants.ts';
import { judge } from '../permission-matrix.ts';
import { type MatrixOptions, runMatrix } from '../permission-run.ts';
import { withServer } from './with-server.ts';

/** The sample has every seventh applicant, and few cells with invalid keys: daemons limit failed authentications. */
const EVERY = { applicant: 7, invalid: 40 } as const;

const sample = (seed: number): Partial<MatrixOptions> => ({
  applicants: APPLICANTS.filter((_, index) => index % EVERY.applicant === seed % EVERY.applicant),
  keep: (index) => index % EVERY.invalid === 0,
});

/** Sends the call of each cell to one of two daemons, and to the file target. */
async function run({ seed, quick }: CheckOptions, isStale = false) {
  const options = { seed, ...(quick && sample(seed)) };
  return judge(await withServer((openStores) => runMatrix({ ...options, openStores }), isStale), { http: 1_000 });
}

export const CHECK: Check = {
  number: 33,
  name: 'permission matrix over two daemons',
  quick: true,
  runs: 'beside',
  run: (options) => run(options),
  // One daemon never sees changes of keys, rules and tenants, so a reply must differ.
  control: ({ seed }) => run({ seed, quick: true }, true),
};
