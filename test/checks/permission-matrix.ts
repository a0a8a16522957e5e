import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { expected } from './permission-oracle.ts';
import { type Cell, type MatrixResult, type Oracle, runCatalogue, runMatrix } from './permission-run.ts';

const SAMPLE_EVERY = 5;
const MIN_CELLS = { direct: 5_000, http: 300, daemons: 1_000 };

/** Returns the figures. Throws a `CheckFailure` for a wrong cell, or for too few cells. */
export function judge(results: Readonly<Record<string, MatrixResult>>): Record<string, number> {
  const all = Object.values(results);
  const figures = {
    ...Object.fromEntries(Object.entries(results).map(([name, { cells }]) => [`cells_${name}`, cells])),
    authenticated: all.reduce((sum, { authenticated }) => sum + authenticated, 0),
    ...Object.fromEntries(
      [...new Set(all.flatMap(({ statuses }) => Object.keys(statuses)))]
        .sort()
        .map((status) => [`answered_${status}`, all.reduce((sum, { statuses }) => sum + (statuses[status] ?? 0), 0)]),
    ),
    wrong: all.reduce((sum, { wrong }) => sum + wrong.length, 0),
    foreign: all.reduce((sum, { foreign }) => sum + foreign, 0),
  };
  const [first] = all.flatMap(({ wrong }) => wrong);
  if (first !== undefined) throw new CheckFailure(first, figures);
  for (const [name, cells] of Object.entries(MIN_CELLS)) {
    if ((results[name]?.cells ?? cells) < cells) throw new CheckFailure(`too few cells: ${name}`, figures);
  }
  if (figures.foreign > 0) throw new CheckFailure("another tenant's data came through", figures);
  return figures;
}

/** The maximum number of cells with invalid keys over HTTP: a daemon limits failed authentications. */
const MAX_UNAUTHENTICATED = 15;

async function runOverHttp(seed: number, every: number): Promise<MatrixResult> {
  let unauthenticated = 0;
  const keep = ({ state }: Cell, index: number) =>
    index % every === 0 && (state === 'good' || unauthenticated++ < MAX_UNAUTHENTICATED);
  return runMatrix({ seed, overHttp: true, keep });
}

const keepSample = ({ state }: Cell, index: number) => state === 'good' || index % SAMPLE_EVERY === 0;

async function run({ seed, quick }: CheckOptions) {
  const direct = await runMatrix({ seed, ...(quick && { keep: keepSample }) });
  const http = await runOverHttp(seed, quick ? 7 : 1);
  return judge({ direct, http, catalogue: await runCatalogue(seed) });
}

/** Returns the oracle with one wrong cell. The seed picks the cell. */
export function wrongOracle(seed: number): Oracle {
  let left = seed % 100;
  return (who, state, operation, target, member) => {
    const right = expected(who, state, operation, target, member);
    if (right.sight !== 'mask' || left-- !== 0) return right;
    return { ...right, sight: 'reveal' };
  };
}

async function control({ seed, quick }: CheckOptions) {
  const result = await runMatrix({ seed, oracle: wrongOracle(seed), ...(quick && { keep: keepSample }) });
  if (result.wrong.length > 1) throw new Error(`one wrong cell was found ${result.wrong.length} times`);
  return judge({ direct: result });
}

export const CHECK: Check = { number: 7, name: 'permission matrix', quick: true, run, control };
