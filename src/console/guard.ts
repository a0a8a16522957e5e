import type { IncomingMessage } from 'node:http';
import type { ProblemCode } from '../contract/problems.ts';

/**
 * Returns the problem with the origin of a request, or undefined for a request of the page itself. Rejects `same-site`,
 * which means another port of this host. Browsers may omit `Sec-Fetch-Site` on plain HTTP. They send `none` for a typed
 * address, which may only open the page. `secure` is whether the daemon itself serves HTTPS. Otherwise, a proxy in
 * front of it may, and the page's origin then has that scheme.
 */
export function foreignOrigin(request: IncomingMessage, secure: boolean): ProblemCode | undefined {
  const { method = '', headers } = request;
  const isRead = method === 'GET' || method === 'HEAD';
  const site = headers['sec-fetch-site'];
  const isTyped = site === 'none' && isRead && headers['sec-fetch-mode'] === 'navigate';
  if (site !== undefined && site !== 'same-origin' && !isTyped) return 'origin_refused';
  const { origin } = headers;
  if (origin === undefined) return isRead ? undefined : 'origin_refused';
  const [, scheme = '', authority] = /^(https?):\/\/(.+)$/.exec(origin) ?? [];
  if (secure && scheme !== 'https') return 'origin_refused';
  // Browsers leave the default port out of the origin; a proxy may write it into `Host`.
  const host = headers.host?.toLowerCase().replace(scheme === 'https' ? /:443$/ : /:80$/, '');
  return authority !== undefined && authority === host ? undefined : 'origin_refused';
}
