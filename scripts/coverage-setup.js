/** Writes what V8 has counted after each test file: the processes of the tests are killed, and would write nothing. */
import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

afterAll(() => takeCoverage());
