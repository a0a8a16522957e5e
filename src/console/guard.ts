import type { IncomingMessage } from 'node:http';
import type { ProblemCode } from '../contract/problems.ts';

/**
 * Returns what is wrong with where a request comes from; undefined for the page itself. `same-site` means another port of
 * this host: no page of ours. A browser may leave `Sec-Fetch-Site` out (plain HTTP beyond loopback), and writes `none` for an
 * address that a user typed: that opens the page and nothing else.
 */
export function foreignOrigin(request: IncomingMessage, scheme: 'http' | 'https'): ProblemCode | undefined {
  const { method = '', headers } = request;
  const isRead = method === 'GET' || method === 'HEAD';
  const site = headers['sec-fetch-site'];
  const isTyped = site === 'none' && isRead && headers['sec-fetch-mode'] === 'navigate';
  if (site !== undefined && site !== 'same-origin' && !isTyped) return 'origin_refused';
  const { origin } = headers;
  if (origin === undefined) return isRead ? undefined : 'origin_refused';
  return origin === `${scheme}://${headers.host ?? ''}` ? undefined : 'origin_refused';
}
