import { OPERATIONS } from '../../src/contract/operations.ts';
import type { ProblemCode } from '../../src/contract/problems.ts';
import type { RawOptions } from './http-fixture.ts';

/** What a daemon with the limits of `http-fixture.ts` refuses on the wire, and how. */
export interface RefusedCase {
  readonly name: string;
  readonly input: () => string | Buffer | readonly (string | Buffer)[];
  readonly code: ProblemCode;
  readonly allow?: string;
  /** The daemon closes the connection; else it must answer a second request on it. */
  readonly closes: boolean;
  readonly options?: RawOptions;
}

/** `Allow`, from the table's rows for the paths as it writes them. */
function allow(...paths: readonly string[]): string {
  const rows = Object.values(OPERATIONS).filter(({ path }) => paths.length === 0 || paths.includes(path));
  const methods = new Set<string>(rows.map(({ method }) => method));
  if (methods.has('GET')) methods.add('HEAD');
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => methods.has(method)).join(', ');
}

/** Requests as their lines stand on the wire. */
export function requestTexts(port: () => number, key: string) {
  const auth = `SVC-API-KEY: ${key}\r\n`;
  const host = () => `Host: 127.0.0.1:${port()}\r\n`;
  return {
    auth,
    host,
    get: (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${host()}${auth}${headers}\r\n`,
    post: (headers: string, body: string) =>
      `POST /tokens HTTP/1.1\r\n${host()}${auth}Content-Type: application/json\r\n${headers}\r\n${body}`,
  };
}

/** The port is asked for when a request is made: the table may stand before its daemon. */
export function refusedRequests(port: () => number, key: string): readonly RefusedCase[] {
  const { auth, host, get, post } = requestTexts(port, key);
  return [
    { name: 'a malformed request line', input: () => 'GARBAGE\r\n\r\n', code: 'malformed_http', closes: true },
    { name: 'binary noise', input: () => Buffer.from([0x16, 3, 1, 2, 0, 1, 0]), code: 'malformed_http', closes: true },
    {
      name: 'a version that is not one',
      input: () => `GET /tokens HTTP/9.9\r\n${host()}\r\n`,
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'the HTTP/2 preface',
      input: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'HTTP/2.0 on a known method',
      input: () => `GET /tokens HTTP/2.0\r\n${host()}\r\n`,
      code: 'malformed_http',
      closes: true,
    },
    { name: 'no Host', input: () => 'GET /tokens HTTP/1.1\r\n\r\n', code: 'wrong_host', closes: false },
    { name: 'no Host, HTTP/1.0', input: () => 'GET /tokens HTTP/1.0\r\n\r\n', code: 'wrong_host', closes: true },
    {
      name: 'two Hosts',
      input: () => `GET /tokens HTTP/1.1\r\n${host()}${host()}\r\n`,
      code: 'wrong_host',
      closes: false,
    },
    {
      name: 'a foreign Host',
      input: () => `GET /tokens HTTP/1.1\r\nHost: evil.example:${port()}\r\n\r\n`,
      code: 'wrong_host',
      closes: false,
    },
    {
      name: 'our Host with another port',
      input: () => 'GET /tokens HTTP/1.1\r\nHost: localhost:1\r\n\r\n',
      code: 'wrong_host',
      closes: false,
    },
    {
      name: 'our Host without the port',
      input: () => 'GET /tokens HTTP/1.1\r\nHost: localhost\r\n\r\n',
      code: 'wrong_host',
      closes: false,
    },
    {
      name: 'a foreign Host on a probe',
      input: () => 'GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n',
      code: 'wrong_host',
      closes: false,
    },
    {
      name: 'absolute-form',
      input: () => get(`http://127.0.0.1:${port()}/tokens`),
      code: 'malformed_http',
      closes: false,
    },
    {
      name: 'asterisk-form',
      input: () => `OPTIONS * HTTP/1.1\r\n${host()}\r\n`,
      code: 'malformed_http',
      closes: false,
    },
    { name: 'a fragment', input: () => get('/tokens#top'), code: 'malformed_http', closes: false },
    { name: 'NUL in the path', input: () => get('/tok\0ens'), code: 'malformed_http', closes: true },
    { name: 'a byte over 0x7f in the path', input: () => get('/tok\xffens'), code: 'malformed_http', closes: true },
    { name: 'a space in the path', input: () => get('/tok ens'), code: 'malformed_http', closes: true },
    {
      name: 'bad percent-encoding of the path',
      input: () => get('/tokens/%zz'),
      code: 'invalid_request',
      closes: false,
    },
    {
      name: 'percent-encoding that is not UTF-8',
      input: () => get('/tokens/%ff'),
      code: 'invalid_request',
      closes: false,
    },
    { name: 'a long URL', input: () => get(`/tokens?id=${'x'.repeat(600)}`), code: 'url_too_long', closes: false },
    {
      name: 'a very long URL',
      input: () => get(`/tokens?id=${'x'.repeat(20_000)}`),
      code: 'url_too_long',
      closes: true,
    },
    {
      name: 'headers over the limit',
      input: () => get('/tokens', `X-A: ${'x'.repeat(2_000)}\r\n`),
      code: 'headers_too_large',
      closes: false,
    },
    {
      name: 'headers far over the limit',
      input: () => get('/tokens', `X-A: ${'x'.repeat(50_000)}\r\n`),
      code: 'headers_too_large',
      closes: true,
    },
    {
      name: 'many small headers',
      input: () => get('/tokens', 'a:b\r\n'.repeat(390)),
      code: 'headers_too_large',
      closes: false,
    },
    {
      name: 'a header without a colon',
      input: () => get('/tokens', 'broken\r\n'),
      code: 'malformed_http',
      closes: true,
    },
    { name: 'a folded header', input: () => get('/tokens', 'X-A: a\r\n b\r\n'), code: 'malformed_http', closes: true },
    {
      name: 'a space before the colon',
      input: () => get('/tokens', 'X-A : a\r\n'),
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'a bare line feed',
      input: () => `GET /tokens HTTP/1.1\n${host()}\n`,
      code: 'malformed_http',
      closes: true,
    },
    { name: 'the key twice', input: () => get('/tokens', auth), code: 'malformed_http', closes: false },
    {
      name: 'the key twice, in other cases',
      input: () => get('/tokens', 'svc-API-key: x\r\n'),
      code: 'malformed_http',
      closes: false,
    },
    {
      name: 'Content-Type twice',
      input: () => post('Content-Type: text/plain\r\nContent-Length: 2\r\n', '{}'),
      code: 'malformed_http',
      closes: false,
    },
    {
      name: 'Content-Length twice',
      input: () => post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'a negative Content-Length',
      input: () => post('Content-Length: -2\r\n', '{}'),
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'Content-Length and Transfer-Encoding',
      input: () => post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'another transfer coding',
      input: () => post('Transfer-Encoding: gzip, chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'a chunk size that is no number',
      input: () => post('Transfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n'),
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'a chunk longer than it says',
      input: () => post('Transfer-Encoding: chunked\r\n', '1\r\n{}\r\n0\r\n\r\n'),
      code: 'malformed_http',
      closes: true,
    },
    {
      name: 'an early end of the body',
      input: () => post('Content-Length: 10\r\n', '{}'),
      code: 'malformed_http',
      closes: true,
      options: { halfClose: true },
    },
    {
      name: 'an early end of the headers',
      input: () => 'GET /tokens HTTP/1.1\r\nHost:',
      code: 'malformed_http',
      closes: true,
      options: { halfClose: true },
    },
    {
      name: 'an over-long body, announced',
      input: () => post('Content-Length: 2000\r\n', 'x'),
      code: 'body_too_large',
      closes: true,
    },
    {
      name: 'an over-long body, announced and sent',
      input: () => post('Content-Length: 2000\r\n', 'x'.repeat(2000)),
      code: 'body_too_large',
      closes: true,
    },
    {
      name: 'an over-long body of chunks',
      input: () => post('Transfer-Encoding: chunked\r\n', `7d0\r\n${'x'.repeat(2000)}\r\n`),
      code: 'body_too_large',
      closes: true,
    },
    {
      name: 'a body that is not UTF-8',
      input: () => post('Content-Length: 3\r\n', '"\xff"'),
      code: 'malformed_json',
      closes: false,
    },
    {
      name: 'half a character at the end',
      input: () => post('Content-Length: 2\r\n', '"\xc3'),
      code: 'malformed_json',
      closes: false,
    },
    {
      name: 'a surrogate in UTF-8',
      input: () => post('Content-Length: 5\r\n', '"\xed\xa0\x80"'),
      code: 'malformed_json',
      closes: false,
    },
    {
      name: 'a gzip body',
      input: () => post('Content-Encoding: gzip\r\nContent-Length: 4\r\n', '\x1f\x8b\x08\0'),
      code: 'unsupported_media_type',
      closes: false,
    },
    {
      name: 'a gzip body without a key',
      input: () =>
        `POST /tokens HTTP/1.1\r\n${host()}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\0`,
      code: 'unauthenticated',
      closes: false,
    },
    {
      name: 'an over-long body without a key',
      input: () => `POST /tokens HTTP/1.1\r\n${host()}Content-Length: 2000\r\n\r\nx`,
      code: 'unauthenticated',
      closes: true,
    },
    {
      name: 'OPTIONS',
      input: () => `OPTIONS /tokens HTTP/1.1\r\n${host()}\r\n`,
      code: 'method_not_allowed',
      allow: 'GET, HEAD, POST',
      closes: false,
    },
    {
      name: 'TRACE',
      input: () => `TRACE /tokens/a HTTP/1.1\r\n${host()}\r\n`,
      code: 'method_not_allowed',
      allow: allow('/tokens/{id}'),
      closes: false,
    },
    {
      name: 'PUT with a body where it is not known',
      input: () => `PUT /tokens/a HTTP/1.1\r\n${host()}Content-Length: 2\r\nContent-Type: ?\r\n\r\n{}`,
      code: 'method_not_allowed',
      allow: allow('/tokens/{id}'),
      closes: false,
    },
    {
      name: 'a method that Node does not know',
      input: () => `FOO /tokens/a?x=1 HTTP/1.1\r\n${host()}\r\n`,
      code: 'method_not_allowed',
      allow: allow('/tokens/{id}'),
      closes: true,
    },
    {
      name: 'a method in lower case',
      input: () => `get /livez/ HTTP/1.1\r\n${host()}\r\n`,
      code: 'method_not_allowed',
      allow: 'GET, HEAD',
      closes: true,
    },
    {
      name: 'an unknown method on an unknown path',
      input: () => `FOO /nowhere HTTP/1.1\r\n${host()}\r\n`,
      code: 'route_not_found',
      closes: true,
    },
    {
      name: 'OPTIONS on an unknown path',
      input: () => `OPTIONS /nowhere HTTP/1.1\r\n${host()}\r\n`,
      code: 'route_not_found',
      closes: false,
    },
    {
      name: 'CONNECT',
      input: () => `CONNECT 127.0.0.1:443 HTTP/1.1\r\n${host()}\r\n`,
      code: 'method_not_allowed',
      allow: allow(),
      closes: true,
    },
    { name: 'an unknown path', input: () => get('/nowhere'), code: 'route_not_found', closes: false },
    { name: 'two slashes', input: () => get('//x'), code: 'route_not_found', closes: false },
    { name: 'another case of a path', input: () => get('/Tokens'), code: 'route_not_found', closes: false },
    { name: 'a path with a doubled slash', input: () => get('//tokens'), code: 'route_not_found', closes: false },
    {
      name: 'an unknown path with a body of chunks',
      input: () => `POST /nowhere HTTP/1.1\r\n${host()}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
      code: 'route_not_found',
      closes: true,
    },
    {
      name: 'headers that never end',
      input: () => `GET /tokens HTTP/1.1\r\n${host()}`,
      code: 'request_timeout',
      closes: true,
    },
    {
      name: 'headers that drip',
      input: () => ['GET /tokens HTTP/1.1\r\n', ...Array(50).fill('A: b\r\n')],
      code: 'request_timeout',
      closes: true,
      options: { pause: 40 },
    },
    {
      name: 'a body that never ends',
      input: () => post('Content-Length: 10\r\n', '{'),
      code: 'request_timeout',
      closes: true,
    },
  ];
}
