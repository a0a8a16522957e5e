/** The tests that `npm run coverage` runs, by the beginnings of their paths. */
export const COVERING = ['test/unit', 'test/contract', 'test/conformance', 'test/vectors'];

/**
 * Those of them that Node cannot load without Vitest's module runner: they replace modules, or use syntax that Node 22
 * lacks. The tests of the command line cover no further code of the measured folders.
 */
export const NOT_COVERING = ['test/unit/cli-', 'test/unit/open-vault', 'test/unit/timers', 'test/unit/written-paths'];
