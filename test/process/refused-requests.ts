import { OPERATIONS } from '../../src/contract/operations.ts';
import type { ProblemCode } from '../../src/contract/problems.ts';
import type { RawOptions } from './http-fixture.ts';

/** A request that a daemon with the limits of `http-fixture.ts` rejects on the wire. */
export interface RefusedCase {
  readonly name: string;
  readonly input: () => string | Buffer | readonly (string | Buffer)[];
  readonly code: ProblemCode;
  readonly allow?: string;
  /** Whether the daemon closes the connection. If not, it must answer a second request on it. */
  readonly closes: boolean;
  readonly options?: RawOptions;
}

/** Returns the `Allow` header of the given paths, or of all paths. Paths are written as in the contract. */
function allow(...paths: readonly string[]): string {
  const rows = Object.values(OPERATIONS).filter(({ path }) => paths.length === 0 || paths.includes(path));
  const methods = new Set<string>(rows.map(({ method }) => method));
  if (methods.has('GET')) methods.add('HEAD');
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => methods.has(method)).join(', ');
}

/** Returns functions that build the text of requests. */
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

const CLOSES = { closes: true };
const STAYS = { closes: false };

/** Returns cases that the daemon rejects in the same way. */
function cases(
  code: ProblemCode,
  how: Pick<RefusedCase, 'closes' | 'allow' | 'options'>,
  requests: Readonly<Record<string, RefusedCase['input']>>,
): readonly RefusedCase[] {
  return Object.entries(requests).map(([name, input]) => ({ name, input, code, ...how }));
}

/** Returns the table of rejected requests. Calls `port` late, because the daemon may start after the table is built. */
export function refusedRequests(port: () => number, key: string): readonly RefusedCase[] {
  const { auth, host, get, post } = requestTexts(port, key);
  return [
    ...cases('malformed_http', CLOSES, {
      'a malformed request line': () => 'GARBAGE\r\n\r\n',
      'binary noise': () => Buffer.from([0x16, 3, 1, 2, 0, 1, 0]),
      'a version that is not one': () => `GET /tokens HTTP/9.9\r\n${host()}\r\n`,
      'the HTTP/2 preface': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'HTTP/2.0 on a known method': () => `GET /tokens HTTP/2.0\r\n${host()}\r\n`,
      'NUL in the path': () => get('/tok\0ens'),
      'a byte over 0x7f in the path': () => get('/tok\xffens'),
      'a space in the path': () => get('/tok ens'),
      'a header without a colon': () => get('/tokens', 'broken\r\n'),
      'a folded header': () => get('/tokens', 'X-A: a\r\n b\r\n'),
      'a space before the colon': () => get('/tokens', 'X-A : a\r\n'),
      'a bare line feed': () => `GET /tokens HTTP/1.1\n${host()}\n`,
      'Content-Length twice': () => post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
      'a negative Content-Length': () => post('Content-Length: -2\r\n', '{}'),
      'Content-Length and Transfer-Encoding': () =>
        post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
      'another transfer coding': () => post('Transfer-Encoding: gzip, chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
      'an unknown transfer coding': () => post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
      'the transfer coding identity': () => post('Transfer-Encoding: identity\r\n', '{}'),
      'a chunk size that is no number': () => post('Transfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n'),
      'chunks of HTTP/1.0': () =>
        post('Transfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
      'a chunk longer than it says': () => post('Transfer-Encoding: chunked\r\n', '1\r\n{}\r\n0\r\n\r\n'),
    }),
    ...cases('wrong_host', STAYS, {
      'a foreign Host': () => `GET /tokens HTTP/1.1\r\nHost: evil.example:${port()}\r\n\r\n`,
      'an empty Host': () => 'GET /tokens HTTP/1.1\r\nHost:\r\n\r\n',
      'absolute-form of a foreign host': () => get(`http://evil.example:${port()}/tokens`),
      'absolute-form of a foreign host that begins with ours': () => get('http://127.0.0.1.evil.example/tokens'),
    }),
    ...cases('malformed_http', CLOSES, { 'no Host, HTTP/1.0': () => 'GET /tokens HTTP/1.0\r\n\r\n' }),
    ...cases('malformed_http', STAYS, {
      'no Host': () => 'GET /tokens HTTP/1.1\r\n\r\n',
      'two Hosts': () => `GET /tokens HTTP/1.1\r\n${host()}${host()}\r\n`,
      'two Hosts on a probe': () => `GET /livez HTTP/1.1\r\n${host()}${host()}\r\n`,
      'no Host, in absolute-form': () => 'GET http://127.0.0.1/tokens HTTP/1.1\r\n\r\n',
      'a Host that is no host': () => 'GET /tokens HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n',
      'a Host that is no host, on a probe': () => 'GET /livez HTTP/1.1\r\nHost: a/b\r\n\r\n',
      'absolute-form with user information': () => get('http://127.0.0.1@evil.example/tokens'),
      'absolute-form without a host': () => get('http:///tokens'),
      'absolute-form of another scheme': () => get('ftp://127.0.0.1/tokens'),
      'absolute-form with a fragment': () => get('http://127.0.0.1/tokens#top'),
      'asterisk-form': () => `OPTIONS * HTTP/1.1\r\n${host()}\r\n`,
      'a fragment': () => get('/tokens#top'),
      'the key twice': () => get('/tokens', auth),
      'the key twice, in other cases': () => get('/tokens', 'svc-API-key: x\r\n'),
      'Content-Type twice': () => post('Content-Type: text/plain\r\nContent-Length: 2\r\n', '{}'),
    }),
    ...cases('invalid_request', STAYS, {
      'bad percent-encoding of the path': () => get('/tokens/%zz'),
      'percent-encoding that is not UTF-8': () => get('/tokens/%ff'),
    }),
    ...cases('url_too_long', STAYS, { 'a long URL': () => get(`/tokens?id=${'x'.repeat(600)}`) }),
    ...cases('url_too_long', CLOSES, { 'a very long URL': () => get(`/tokens?id=${'x'.repeat(20_000)}`) }),
    ...cases('headers_too_large', STAYS, {
      'headers over the limit': () => get('/tokens', `X-A: ${'x'.repeat(2_000)}\r\n`),
      'many small headers': () => get('/tokens', 'a:b\r\n'.repeat(390)),
    }),
    ...cases('headers_too_large', CLOSES, {
      'headers far over the limit': () => get('/tokens', `X-A: ${'x'.repeat(50_000)}\r\n`),
    }),
    ...cases(
      'malformed_http',
      { ...CLOSES, options: { halfClose: true } },
      {
        'an early end of the body': () => post('Content-Length: 10\r\n', '{}'),
        'an early end of the headers': () => 'GET /tokens HTTP/1.1\r\nHost:',
      },
    ),
    ...cases('body_too_large', CLOSES, {
      'an over-long body, announced': () => post('Content-Length: 2000\r\n', 'x'),
      'an over-long body, announced and sent': () => post('Content-Length: 2000\r\n', 'x'.repeat(2000)),
      'an over-long body of chunks': () => post('Transfer-Encoding: chunked\r\n', `7d0\r\n${'x'.repeat(2000)}\r\n`),
    }),
    ...cases('malformed_json', STAYS, {
      'a body that is not UTF-8': () => post('Content-Length: 3\r\n', '"\xff"'),
      'half a character at the end': () => post('Content-Length: 2\r\n', '"\xc3'),
      'a surrogate in UTF-8': () => post('Content-Length: 5\r\n', '"\xed\xa0\x80"'),
    }),
    ...cases('unsupported_media_type', STAYS, {
      'a gzip body': () => post('Content-Encoding: gzip\r\nContent-Length: 4\r\n', '\x1f\x8b\x08\0'),
    }),
    ...cases('unauthenticated', STAYS, {
      'a gzip body without a key': () =>
        `POST /tokens HTTP/1.1\r\n${host()}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\0`,
    }),
    ...cases('unauthenticated', CLOSES, {
      'an over-long body without a key': () => `POST /tokens HTTP/1.1\r\n${host()}Content-Length: 2000\r\n\r\nx`,
    }),
    ...cases(
      'method_not_allowed',
      { ...STAYS, allow: 'GET, HEAD, POST' },
      { OPTIONS: () => `OPTIONS /tokens HTTP/1.1\r\n${host()}\r\n` },
    ),
    ...cases(
      'method_not_allowed',
      { ...STAYS, allow: allow('/tokens/{id}') },
      {
        TRACE: () => `TRACE /tokens/a HTTP/1.1\r\n${host()}\r\n`,
        'PUT with a body where it is not known': () =>
          `PUT /tokens/a HTTP/1.1\r\n${host()}Content-Length: 2\r\nContent-Type: ?\r\n\r\n{}`,
      },
    ),
    ...cases(
      'method_not_allowed',
      { ...CLOSES, allow: allow('/tokens/{id}') },
      { 'a method that Node does not know': () => `FOO /tokens/a?x=1 HTTP/1.1\r\n${host()}\r\n` },
    ),
    ...cases(
      'method_not_allowed',
      { ...CLOSES, allow: 'GET, HEAD' },
      { 'a method in lower case': () => `get /livez/ HTTP/1.1\r\n${host()}\r\n` },
    ),
    ...cases('route_not_found', CLOSES, {
      'an unknown method on an unknown path': () => `FOO /nowhere HTTP/1.1\r\n${host()}\r\n`,
      'an unknown path with a body of chunks': () =>
        `POST /nowhere HTTP/1.1\r\n${host()}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    }),
    ...cases('route_not_found', STAYS, {
      'OPTIONS on an unknown path': () => `OPTIONS /nowhere HTTP/1.1\r\n${host()}\r\n`,
      'an unknown path': () => get('/nowhere'),
      'two slashes': () => get('//x'),
      'another case of a path': () => get('/Tokens'),
      'a path with a doubled slash': () => get('//tokens'),
    }),
    ...cases(
      'method_not_allowed',
      { ...CLOSES, allow: allow() },
      { CONNECT: () => `CONNECT 127.0.0.1:443 HTTP/1.1\r\n${host()}\r\n` },
    ),
    ...cases('request_timeout', CLOSES, {
      'headers that never end': () => `GET /tokens HTTP/1.1\r\n${host()}`,
      'a body that never ends': () => post('Content-Length: 10\r\n', '{'),
    }),
    ...cases(
      'request_timeout',
      { ...CLOSES, options: { pause: 40 } },
      { 'headers that drip': () => ['GET /tokens HTTP/1.1\r\n', ...Array(50).fill('A: b\r\n')] },
    ),
  ];
}
