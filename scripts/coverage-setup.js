/** Writes V8's counts after each test file, because the test processes are killed and would write nothing. */
import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

afterAll(() => takeCoverage());
