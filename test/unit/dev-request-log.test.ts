import { describe, expect, it } from 'vitest';
import type { Reply } from '../../src/contract/call.ts';
import { invalid, Problem, problemReply } from '../../src/core/problem.ts';
import { createDevRequestLog, readDevRequestsQuery } from '../../src/http/dev-request-log.ts';
import { requestRecord } from '../../src/http/request-log.ts';

const OK: Reply = { status: 200, bodyText: '"é"', traceId: 't' };

function started() {
  const log = createDevRequestLog(() => 0);
  const add = (reply: Reply = OK) =>
    log.add(requestRecord(reply, { method: 'GET', route: '/tokens', bytes: 4 }), reply);
  const ids = async (after: number, wait = 0) => (await log.newer({ after, wait })).map(({ id }) => id);
  return { log, add, ids };
}

describe('the requests of a --dev daemon', () => {
  it('are the last 500, newest first', async () => {
    const { add, ids } = started();
    for (let n = 0; n < 502; n += 1) add();
    const all = await ids(0);
    expect([all.length, all[0], all.at(-1)]).toEqual([500, 502, 3]);
    expect(await ids(500)).toEqual([502, 501]);
    expect(await ids(502)).toEqual([]);
  });

  it('have the time of the vault and the size of the body', async () => {
    const { log, add } = started();
    add();
    expect(await log.newer({ after: 0, wait: 0 })).toEqual([
      {
        id: 1,
        time: '1970-01-01T00:00:00.000+00:00',
        trace_id: 't',
        method: 'GET',
        route: '/tokens',
        status: 200,
        bytes: 4,
      },
    ]);
  });

  it('name the problem and its first members, and cut long names', async () => {
    const { log, add } = started();
    add(problemReply(invalid('mask', 'is wrong'), 't'));
    add(problemReply(new Problem('token_not_found'), 't'));
    const errors = Object.fromEntries([...'abcdefghijkl'].map((letter) => [letter.repeat(200), ['is wrong']]));
    add(problemReply(new Problem('invalid_request', { errors }), 't'));
    const [long, without, one] = await log.newer({ after: 0, wait: 0 });
    expect(one).toMatchObject({ problem: 'invalid_request', members: ['mask'] });
    expect(without).toMatchObject({ problem: 'token_not_found', members: undefined });
    expect(long?.members).toEqual([...'abcdefghij'].map((letter) => letter.repeat(100)));
  });

  it('wait for the next request, for a time, and for the end', async () => {
    const { log, add, ids } = started();
    const next = ids(0, 20);
    add();
    expect(await next).toEqual([1]);
    expect(await ids(0, 20)).toEqual([1]);
    expect(await ids(1, 0.01)).toEqual([]);
    const waiting = ids(1, 20);
    log.end();
    expect(await waiting).toEqual([]);
    expect(await ids(1, 20)).toEqual([]);
  });
});

describe('the query of the requests', () => {
  it.each([
    ['', { after: 0, wait: 0 }],
    ['?', { after: 0, wait: 0 }],
    ['?after=12&wait=25', { after: 12, wait: 25 }],
  ])('%j', (query, read) => {
    expect(readDevRequestsQuery(`/dev/requests${query}`)).toEqual(read);
  });

  it.each([
    ['after', '?after='],
    ['after', '?after=-1'],
    ['after', '?after=1.5'],
    ['after', '?after=x'],
    ['wait', '?wait=26'],
    ['wait', '?wait=1s'],
    ['size', '?size=1'],
    ['after', '?after=%ff'],
  ])('is rejected for %s: %s', (member, query) => {
    expect(() => readDevRequestsQuery(`/dev/requests${query}`)).toThrow(
      expect.objectContaining({ code: 'invalid_request', errors: { [member]: [expect.any(String)] } }),
    );
  });
});
