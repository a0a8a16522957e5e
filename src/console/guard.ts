import type { IncomingMessage } from 'node:http';
import type { ProblemCode } from '../contract/problems.ts';

/**
 * Returns the problem with the origin of a request, or undefined for a request of the page itself. Rejects `same-site`,
 * which means another port of this host. Browsers may omit `Sec-Fetch-Site` on plain HTTP. They send `none` for a typed
 * address, which may only open the page.
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
