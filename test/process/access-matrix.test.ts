import { expect, it } from 'vitest';
import { wrongOracle } from '../checks/permission-matrix.ts';
import { type Cell, runCatalogue, runMatrix } from '../checks/permission-run.ts';

/** A generous limit: the test takes a few seconds on an idle machine. */
const TIMEOUT_MS = 300_000;

/** A sample: check 7 runs every cell with a good key, and cells over HTTP. */
const keep = ({ state }: Cell, index: number) => index % (state === 'good' ? 3 : 15) === 0;

it(
  'every cell of the permission matrix matches the specification',
  async () => {
    const { cells, ...direct } = await runMatrix({ seed: 1, keep });
    expect(cells).toBeGreaterThanOrEqual(1_700);
    expect(direct).toMatchObject({ wrong: [], foreign: 0 });
    expect(await runCatalogue(1)).toMatchObject({ wrong: [] });
  },
  TIMEOUT_MS,
);

it(
  'one wrong cell is found',
  async () => {
    expect((await runMatrix({ seed: 1, keep, oracle: wrongOracle(1) })).wrong).toHaveLength(1);
  },
  TIMEOUT_MS,
);
