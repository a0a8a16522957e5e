import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

/** What registers the removal of something: `afterAll` at the top of a file, `onTestFinished` in a test or a `beforeEach`. */
export type AtEnd = (remove: () => void) => void;

/** Returns the path of a new folder, which is removed after all tests of the file; with `onTestFinished`, after one. */
export function temporaryFolder(atEnd: AtEnd = afterAll): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
