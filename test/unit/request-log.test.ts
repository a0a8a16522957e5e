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

it.each(REPLIES)('%i with the application %s: %i lines of one address', async (status, applicationId, written) => {
  let text = '';
  redirectLog((lines) => {
    text += lines;
  });
  const reply = { status, traceId: '' };
  const answered: Answered = { peer: `192.0.2.${status % 256}`, applicationId, bytes: 0 };
  for (let n = 0; n < REQUESTS; n += 1) logRequest('json', requestRecord(reply, answered), reply, answered);
  await new Promise(setImmediate);
  expect(text.match(/\n/g)).toHaveLength(written);
});
