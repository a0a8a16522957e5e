import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { APPLICANTS } from './permission-applicants.ts';
import { type MatrixResult, runMatrix } from './permission-run.ts';

/** A quick run sends one in `http` applicants over HTTP, too, and runs one in `invalid` cells with an invalid key. */
const EVERY = { http: 7, invalid: 5 } as const;
/** The cells with invalid keys over HTTP in a quick run, at most: a daemon limits failed authentications. */
const MAX_UNAUTHENTICATED = 15;
/** The control has every tenth applicant. */
const CONTROL_EVERY = 10;

/** Returns the figures. Throws a `CheckFailure` for a wrong cell, or for too few cells. */
export function judge(
  { cells, authenticated, statuses, wrong, foreign }: MatrixResult,
  least: Partial<MatrixResult['cells']>,
) {
  const figures = {
    ...Object.fromEntries(Object.entries(cells).map(([name, count]) => [`cells_${name}`, count])),
    authenticated,
    ...Object.fromEntries(Object.entries(statuses).map(([status, count]) => [`answered_${status}`, count])),
    wrong: wrong.length,
    foreign,
  };
  const [first] = wrong;
  if (first !== undefined) throw new CheckFailure(first, figures);
  for (const name of ['direct', 'http'] as const) {
    if (cells[name] < (least[name] ?? 0)) throw new CheckFailure(`too few cells: ${name}`, figures);
  }
  if (foreign > 0) throw new CheckFailure("another tenant's data came through", figures);
  return figures;
}

const options = ({ seed, quick }: CheckOptions) => ({
  seed,
  overHttp: (number: number) => !quick || number % EVERY.http === seed % EVERY.http,
  keep: (index: number) => !quick || index % EVERY.invalid === 0,
  isSent: (index: number) => index < MAX_UNAUTHENTICATED * EVERY.invalid,
});

/** Runs with a model that is wrong in one cell. The seed picks the cell. */
async function control(given: CheckOptions) {
  const applicants = APPLICANTS.filter((_, index) => index % CONTROL_EVERY === given.seed % CONTROL_EVERY);
  const result = await runMatrix({ ...options(given), applicants, wrongCell: given.seed % 100 });
  if (result.wrong.length > 1) throw new Error(`one wrong cell was found ${result.wrong.length} times`);
  return judge(result, {});
}

export const CHECK: Check = {
  number: 7,
  name: 'permission matrix',
  quick: true,
  run: async (given) => judge(await runMatrix(options(given)), { direct: 5_000, http: 300 }),
  control,
};
