import { expect, it } from 'vitest';
import { type Answered, logRequest, redirectLog, requestRecord } from '../../src/http/request-log.ts';

const REQUESTS = 150;

/** The replies, the application of the caller, and how many of `REQUESTS` lines in a minute are written. */
const REPLIES: readonly (readonly [status: number, applicationId: string | undefined, written: number])[] = [
  [401, undefined, 100],
  [404, undefined, 100],
  [429, undefined, 100],
  [200, undefined, 100],
  [204, undefined, 100],
  [200, 'known', REQUESTS],
  [403, 'known', REQUESTS],
  [500, undefined, REQUESTS],
  [503, undefined, REQUESTS],
];

/** Resolves to the number of lines that `REQUESTS` requests with one reply cause. */
async function linesOf(status: number, { peer, applicationId }: Pick<Answered, 'peer' | 'applicationId'>) {
  let text = '';
  redirectLog((lines) => {
    text += lines;
  });
  const reply = { status, traceId: '' };
  const answered: Answered = { peer, applicationId, bytes: 0 };
  for (let n = 0; n < REQUESTS; n += 1) logRequest('json', requestRecord(reply, answered), reply, answered);
  await new Promise(setImmediate);
  return text.split('\n').length - 1;
}

it.each(REPLIES)('%i with the application %s: %i lines of one address', async (status, applicationId, written) => {
  expect(await linesOf(status, { peer: `192.0.2.${status % 256}`, applicationId })).toBe(written);
});

it('probes leave the lines of refusals alone', async () => {
  const peer = '198.51.100.1';
  expect([await linesOf(200, { peer }), await linesOf(401, { peer }), await linesOf(404, { peer })]).toEqual([
    100, 100, 0,
  ]);
});
