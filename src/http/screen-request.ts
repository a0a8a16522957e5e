import type { IncomingMessage } from 'node:http';
import type { Limits } from '../contract/limits.ts';
import type { ProblemCode } from '../contract/problems.ts';
import { Problem } from '../core/problem.ts';
import { hostOf, isHostName } from './own-hosts.ts';
import { isProbe } from './routes.ts';

/** Origin-form (RFC 9112 §3.2.1): no scheme, no fragment, nothing outside printable ASCII. */
const ORIGIN_FORM = /^\/[\x21\x22\x24-\x7e]*$/;
/** Absolute-form (RFC 9112 §3.2.2) without user information: the authority, the path and the query. */
const ABSOLUTE_FORM = /^https?:\/\/([^\s/?#@]+)((?:[/?].*)?)$/i;
/** The maximum length of a host in a problem; longer ones are cut. No name of DNS is longer. */
const MAX_SHOWN_HOST = 253;

/** The facts about the daemon that the check of a request uses. `keyHeader` is in lower case. */
export interface ScreenOptions {
  readonly limits: Limits;
  readonly keyHeader: string;
  /** Returns whether a host, as `hostOf` returns it, is one of this daemon. */
  readonly isOwnHost: (host: string) => boolean;
  /** Whether --host-name can add a host. */
  readonly takesHostNames: boolean;
}

/**
 * Gives a request in absolute-form the form that others have: the path in `url`, and the authority in `Host`, which it
 * replaces (RFC 9112 §3.2.2).
 */
export function toOriginForm(request: IncomingMessage): void {
  const [, authority, target = ''] = ABSOLUTE_FORM.exec(request.url ?? '') ?? [];
  if (authority === undefined) return;
  request.url = target.startsWith('/') ? target : `/${target}`;
  request.headers.host = authority;
}

/**
 * Returns a function that checks the request line and the headers before routing. It returns the first problem, or
 * undefined. Node checks the grammar; this function checks the rules that Node leaves to the application. Requests in
 * absolute-form become requests in origin-form.
 */
export function createScreen({ limits, keyHeader, isOwnHost, takesHostNames }: ScreenOptions) {
  const refused = (code: ProblemCode) => new Problem(code);

  return (request: IncomingMessage): Problem | undefined => {
    const { headers, rawHeaders, httpVersionMajor: major, httpVersionMinor: minor } = request;
    let [hosts, keys, types, size] = [0, 0, 0, 0];
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = (rawHeaders[i] ?? '').toLowerCase();
      // Four bytes more for colon, space and line end.
      size += name.length + (rawHeaders[i + 1] ?? '').length + 4;
      if (name === 'host') hosts += 1;
      else if (name === keyHeader) keys += 1;
      else if (name === 'content-type') types += 1;
    }
    if (major !== 1 || minor > 1) return refused('malformed_http');
    // RFC 9112 §3.2: only HTTP/1.0 may leave Host out. Load balancers probe so.
    if (hosts > 1 || (hosts === 0 && minor === 1)) return refused('malformed_http');
    const { length } = request.url ?? '';
    if (!request.url?.startsWith('/')) toOriginForm(request);
    const { url = '' } = request;
    const host = hostOf(headers.host ?? '');
    if (host === undefined || (headers.host === undefined && !isProbe(url))) return refused('malformed_http');
    if (!isOwnHost(host) && !isProbe(url)) return wrongHost(host, takesHostNames);
    if (length > limits.url) return refused('url_too_long');
    if (!ORIGIN_FORM.test(url)) return refused('malformed_http');
    if (size > limits.headers) return refused('headers_too_large');
    if (keys > 1 || types > 1) return refused('malformed_http');
    const coding = headers['transfer-encoding'];
    if (coding === undefined) return undefined;
    // RFC 9112 §6.1: HTTP/1.0 has no chunked coding; with both headers, other servers may frame the request
    // differently.
    if (coding.toLowerCase() !== 'chunked' || minor === 0) return refused('malformed_http');
    return undefined;
  };
}

/** Returns the problem that names a foreign host, and the flag that adds it unless the flag refuses such a host. */
function wrongHost(host: string, takesHostNames: boolean): Problem {
  if (host === '') return new Problem('wrong_host', { detail: 'The request names no host.' });
  const shown = host.slice(0, MAX_SHOWN_HOST);
  if (takesHostNames && !isHostName(host)) {
    return new Problem('wrong_host', { detail: `This server does not serve the host ${shown}.` });
  }
  const detail = takesHostNames
    ? `This server does not serve the host ${shown}; \`vault serve --host-name ${shown}\` adds it.`
    : `This server does not serve the host ${shown}; use 127.0.0.1 or localhost.`;
  return new Problem('wrong_host', { detail });
}
