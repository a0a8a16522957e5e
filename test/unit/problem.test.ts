import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/core/problem.ts';

describe('a problem', () => {
  it('has a stack only when it is reported', () => {
    const { stackTraceLimit } = Error;
    expect(new Problem('token_not_found').stack).not.toMatch(/^ +at /m);
    expect(new Problem('internal_error').stack).toMatch(/^ +at .*problem\.test/m);
    expect(new Problem('integrity_failure').stack).toMatch(/^ +at .*problem\.test/m);
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
    expect(new Error('any').stack).toMatch(/^ +at /m);
  });
});
