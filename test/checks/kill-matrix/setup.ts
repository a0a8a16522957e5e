import { takeCoverage } from 'node:v8';
import { afterAll, beforeEach } from 'vitest';

/** Test files with a failed test. One failure shows a kill, so their other tests need not run. */
const killed = new Set<string>();

beforeEach(({ task, skip, onTestFailed }) => {
  skip(killed.has(task.file.filepath));
  onTestFailed(() => void killed.add(task.file.filepath));
});

/** Vitest kills its test processes, so they would not write V8's counts on exit. */
afterAll(() => takeCoverage());
