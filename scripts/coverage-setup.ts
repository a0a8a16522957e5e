/** Writes V8's counts after each test file: Vitest kills its test processes, so they would not write them on exit. */
import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

afterAll(() => takeCoverage());
