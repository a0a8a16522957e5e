import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, it, vi } from 'vitest';
import { isTerminal, ownStandardOutput, writeAtOnce } from '../../src/cli/output/standard-output.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it('asks process.stdout when the system cannot describe standard output', () => {
  vi.spyOn(fs, 'fstatSync').mockImplementation(() => {
    throw Object.assign(new Error('EISDIR: illegal operation on a directory, fstat'), { code: 'EISDIR' });
  });
  syncBuiltinESMExports();
  ownStandardOutput();
  expect(isTerminal()).toBe(process.stdout.isTTY === true);
  expect(writeAtOnce(Buffer.from('text'))).toBe(0);
});
