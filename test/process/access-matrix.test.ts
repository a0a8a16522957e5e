import { expect, it } from 'vitest';
import { CheckFailure } from '../checks/check.ts';
import { CHECK } from '../checks/permission-matrix.ts';

/** A generous limit: the test takes a few seconds on an idle machine. */
const TIMEOUT_MS = 300_000;

it(
  'every cell of the permission matrix matches the specification',
  async () => {
    const figures = await CHECK.run({ seed: 1, quick: true });
    expect(figures).toMatchObject({ wrong: 0, foreign: 0 });
    expect(figures['cells_direct']).toBeGreaterThanOrEqual(5_000);
    expect(figures['cells_http']).toBeGreaterThanOrEqual(300);
  },
  TIMEOUT_MS,
);

it(
  'one wrong cell is found',
  async () => {
    await expect(CHECK.control({ seed: 1, quick: true })).rejects.toThrow(CheckFailure);
  },
  TIMEOUT_MS,
);
