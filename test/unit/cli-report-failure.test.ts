import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EXIT_CODES, exitCodeOf } from '../../src/cli/exit/exit-codes.ts';
import { reportFailure, reportProblem } from '../../src/cli/exit/report-failure.ts';
import { FAULTS, type FaultCode } from '../../src/contract/faults.ts';
import { PROBLEM_TYPE_PREFIX, PROBLEMS, type ProblemCode, TITLES } from '../../src/contract/problems.ts';
import { Fault } from '../../src/core/fault.ts';
import { Problem } from '../../src/core/problem.ts';

let told = '';
beforeEach(() => {
  told = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('exit codes', () => {
  it.each(Object.keys(PROBLEMS) as ProblemCode[])('%s', (code) => {
    const { status, detail } = PROBLEMS[code];
    const type = `${PROBLEM_TYPE_PREFIX}${code}`;
    const bodyText = JSON.stringify({ type, title: TITLES[status], status, detail, instance: 'trace' });
    expect(reportProblem({ status, bodyText, traceId: 'trace' })).toBe(exitCodeOf(status, code));
    expect(told.startsWith(`vault: ${detail}\n`)).toBe(true);
    expect(reportFailure(new Problem(code), {})).toBe(exitCodeOf(status, code));
  });

  it.each(Object.keys(FAULTS) as FaultCode[])('%s', (code) => {
    expect(reportFailure(new Fault(code, 'the fact'), {})).toBe(FAULTS[code].exit);
    const row: { readonly exit: number; readonly hint?: string } = FAULTS[code];
    expect(told).toBe(`vault: the fact\n${row.hint === undefined ? '' : `hint: ${row.hint}\n`}`);
    expect(EXIT_CODES).toHaveProperty(String(FAULTS[code].exit));
  });

  it('success is 0, and a foreign status is 1', () => {
    expect(exitCodeOf(201, '')).toBe(0);
    expect(exitCodeOf(418, '')).toBe(1);
    expect(exitCodeOf(400, 'constructor')).toBe(7);
  });
});

describe('the report of a failure', () => {
  it('ignores null members, which another program may send', () => {
    const body = { type: 'urn:x', title: '', status: 400, detail: 'no', errors: null };
    reportProblem({ status: 400, bodyText: JSON.stringify(body), traceId: '' });
    expect(told).toBe('vault: no\n');
  });

  it('sends no control character to the terminal', () => {
    const body = { type: 'urn:x', title: '', status: 400, detail: 'a\u001b[2Jb', errors: { 'x\ny': ['c\u009b'] } };
    reportProblem({ status: 400, bodyText: JSON.stringify(body), traceId: '' });
    expect(told).toBe('vault: a[2Jb\nvault:   x y: c\n');
  });

  it('hides an unexpected error unless VAULT_DEBUG is set', () => {
    expect(reportFailure(new TypeError('4242424242424242'), {})).toBe(1);
    expect(told).toBe('vault: unexpected error\nhint: set VAULT_DEBUG=1 to see where\n');
    reportFailure(new TypeError('the message'), { VAULT_DEBUG: '1' });
    expect(told).toContain('TypeError: the message\n    at ');
  });

  it.each(['EIO', 'SQLITE_IOERR_FSYNC', 'SQLITE_PROTOCOL'])('names the disk error %s', (code) => {
    expect(reportFailure(Object.assign(new Error('secret'), { code }), {})).toBe(1);
    expect(told).toBe(`vault: the disk reports an error (${code})\nhint: check the disk, then run \`vault doctor\`\n`);
  });

  it('is empty after an interrupted prompt', () => {
    const error = new Error('User force closed the prompt');
    error.name = 'ExitPromptError';
    expect(reportFailure(error, {})).toBe(130);
    expect(told).toBe('');
  });
});
