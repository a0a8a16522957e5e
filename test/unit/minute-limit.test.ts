import { describe, expect, it } from 'vitest';
import { createMinuteLimit, type MinuteLimit } from '../../src/core/access/minute-limit.ts';
import { Problem } from '../../src/core/problem.ts';
import { steppingClock } from '../fixed-world.ts';

function count(limit: MinuteLimit, application: string): string {
  try {
    limit(application);
    return 'counted';
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return `${error.code} ${error.retryAfter}`;
  }
}

describe('the limit of an application per minute', () => {
  it('is separate for each application and ends with the minute', () => {
    const clock = steppingClock(Date.UTC(2026, 2, 1, 9, 30, 15));
    const limit = createMinuteLimit(2, clock);
    expect(['a', 'a', 'b', 'a', 'b', 'b'].map((application) => count(limit, application))).toEqual([
      'counted',
      'counted',
      'counted',
      'too_many_requests 45',
      'counted',
      'too_many_requests 45',
    ]);
    clock.advance(44_999);
    expect(count(limit, 'a')).toBe('too_many_requests 1');
    clock.advance(1);
    expect(count(limit, 'a')).toBe('counted');
  });

  it('ends even when the clock moves back', () => {
    const clock = steppingClock();
    const limit = createMinuteLimit(1, clock);
    limit('a');
    clock.advance(-3_600_000);
    expect(count(limit, 'a')).toBe('counted');
  });
});
