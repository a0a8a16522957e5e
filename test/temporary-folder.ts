import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

/**
 * Registers a clean-up: `afterAll` at the top of a file, `onTestFinished` in a test or `beforeEach`, and the result of
 * `atEndOfSuite` in `beforeAll`. Clean-ups run in reverse order.
 */
export type AtEnd = (remove: () => void) => void;

/** Returns a function that registers clean-ups for the end of the file, or of the `describe` that calls it. */
export function atEndOfSuite(): AtEnd {
  const removals: (() => void | Promise<void>)[] = [];
  afterAll(async () => {
    for (const remove of removals.toReversed()) await remove();
  });
  return (remove) => void removals.push(remove);
}

/**
 * Creates a folder; returns its path. Removes it after all tests of the file, or after one test with `onTestFinished`.
 */
export function temporaryFolder(atEnd: AtEnd = afterAll): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
