import { describe, expect, it } from 'vitest';
import { createDevFaults, problemOfFault, readDevFault } from '../../src/http/dev-faults.ts';

const fault = (request: string, times = 1) => ({ request, status: 429, times });

describe('the faults of a --dev daemon', () => {
  it.each([
    ['POST /tokens', 'POST', '/tokens', true],
    ['POST /tokens', 'POST', '/tokens/', true],
    ['POST /tokens', 'POST', '/tokens?x=/y', true],
    ['POST /tokens', 'GET', '/tokens', false],
    ['POST /tokens', 'POST', '/tokens/a', false],
    ['GET /tokens/{id}', 'GET', '/tokens/a', true],
    ['GET /tokens/{id}', 'GET', '/tokens/', false],
    ['GET /tokens/a', 'GET', '/tokens/a', true],
    ['GET /tokens/a', 'GET', '/tokens/b', false],
    ['* /tokens/{id}', 'PATCH', '/tokens/a', true],
    ['GET /', 'GET', '/', true],
    ['GET /', 'GET', '/tokens', false],
  ])('%s and %s %s: %s', (request, method, url, happens) => {
    const faults = createDevFaults();
    faults.add(fault(request));
    expect(faults.take(method, url) !== undefined).toBe(happens);
  });

  it('happen as many times as requested, in the order of their requests', () => {
    const faults = createDevFaults();
    faults.add({ ...fault('GET /tokens', 2), status: 500 });
    faults.add(fault('* /tokens'));
    const take = () => faults.take('GET', '/tokens')?.status;
    expect([take(), faults.list().map(({ times }) => times)]).toEqual([500, [1, 1]]);
    expect([take(), take(), take(), faults.list()]).toEqual([500, 429, undefined, []]);
    faults.add(fault('GET /tokens'));
    faults.clear();
    expect(take()).toBeUndefined();
  });

  it('keep the sent members; times is 1 by default', () => {
    const sent = { request: 'GET /tokens/{id}', status: 503, retry_after: 0, delay_ms: 5, times: 3 };
    expect(readDevFault(sent)).toEqual(sent);
    expect(readDevFault({ request: '* /readyz', drop: true })).toEqual({ request: '* /readyz', drop: true, times: 1 });
  });

  it.each([
    ['request', {}],
    ['request', { request: 'POST /tokenz' }],
    ['request', { request: '/tokens' }],
    ['request', { request: 'PUT /tokens' }],
    ['request', { request: ['POST /tokens'] }],
    ['request', { request: 'POST /dev/clock' }],
    ['status', { status: 418 }],
    ['status', { status: '429' }],
    ['status', { status: undefined }],
    ['times', { times: 0 }],
    ['times', { times: 1.5 }],
    ['delay_ms', { delay_ms: 25_001 }],
    ['retry_after', { retry_after: -1 }],
    ['retry_after', { status: 500, retry_after: 1 }],
    ['drop', { drop: true }],
    ['drop', { drop: 'yes' }],
    ['statu', { statu: 1 }],
  ])('are rejected for %s: %j', (member, sent) => {
    const whole = member === 'request' ? { status: 429, ...sent } : { request: 'POST /tokens', status: 429, ...sent };
    const errors = { [member]: [expect.any(String)] };
    expect(() => readDevFault(whole)).toThrow(expect.objectContaining({ errors }));
  });

  it('return the simplest problem of their status', () => {
    const code = (status: number) => problemOfFault({ request: 'GET /tokens', status, times: 1 })?.code;
    expect([400, 429, 500, 503].map(code)).toEqual([
      'invalid_request',
      'too_many_requests',
      'internal_error',
      'vault_busy',
    ]);
    expect(problemOfFault({ request: 'GET /tokens', status: 503, retry_after: 7, times: 1 })?.retryAfter).toBe(7);
    expect(problemOfFault({ request: 'GET /tokens', drop: true, times: 1 })).toBeUndefined();
  });
});
