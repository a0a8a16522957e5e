import type { IncomingMessage } from 'node:http';
import type { Limits } from '../contract/limits.ts';
import type { ProblemCode } from '../contract/problems.ts';

/** Origin-form (RFC 9112 §3.2.1): no scheme, no fragment, nothing outside printable ASCII. */
const ORIGIN_FORM = /^\/[\x21\x22\x24-\x7e]*$/;

/**
 * Returns a function that checks the request line and the headers before routing. It returns the first problem, or
 * undefined. Node checks the grammar; this function checks the rules that Node leaves to the application. `keyHeader`
 * is in lower case.
 */
export function createScreen(limits: Limits, keyHeader: string, isOwnHost: (host: string) => boolean) {
  return (request: IncomingMessage): ProblemCode | undefined => {
    const { headers, rawHeaders, url = '' } = request;
    let [hosts, keys, types, size] = [0, 0, 0, 0];
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = (rawHeaders[i] ?? '').toLowerCase();
      // Four bytes more for colon, space and line end.
      size += name.length + (rawHeaders[i + 1] ?? '').length + 4;
      if (name === 'host') hosts += 1;
      else if (name === keyHeader) keys += 1;
      else if (name === 'content-type') types += 1;
    }
    if (request.httpVersionMajor !== 1 || request.httpVersionMinor > 1) return 'malformed_http';
    if (hosts !== 1 || !isOwnHost(headers.host ?? '')) return 'wrong_host';
    if (url.length > limits.url) return 'url_too_long';
    if (!ORIGIN_FORM.test(url)) return 'malformed_http';
    if (size > limits.headers) return 'headers_too_large';
    if (keys > 1 || types > 1) return 'malformed_http';
    const coding = headers['transfer-encoding'];
    if (coding === undefined) return undefined;
    // RFC 9112 §6.1: HTTP/1.0 has no chunked coding; with both headers, other servers may frame the request
    // differently.
    if (coding.toLowerCase() !== 'chunked' || request.httpVersionMinor === 0) return 'malformed_http';
    return undefined;
  };
}
