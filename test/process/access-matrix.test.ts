import { expect, it } from 'vitest';
import { wrongOracle } from '../checks/permission-matrix.ts';
import { type Cell, runCatalogue, runMatrix } from '../checks/permission-run.ts';

/** A generous limit: the test takes a few seconds on an idle machine. */
const TIMEOUT_MS = 300_000;

/** A sample: check 7 runs every cell with a good key, and cells over HTTP. */
const keep = ({ state }: Cell, index: number) => index % (state === 'good' ? 3 : 15) === 0;

it(
  'a sample of the permission matrix matches the specification',
  async () => {
    // One cell of the specification is changed on purpose, and must be the only one that differs.
    const { cells, ...direct } = await runMatrix({ seed: 1, keep, oracle: wrongOracle(1) });
    expect(cells).toBeGreaterThanOrEqual(1_700);
    expect(direct).toMatchObject({ wrong: [expect.stringMatching(/"sight":"reveal".*"sight":"mask"/)], foreign: 0 });
    expect(await runCatalogue(1)).toMatchObject({ wrong: [] });
  },
  TIMEOUT_MS,
);
