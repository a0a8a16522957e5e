import { raw } from '../process/http-fixture.ts';
import type { Canaries } from './leakage-canaries.ts';

interface Refused {
  readonly status: number;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
/** More failed authentications than the daemon allows a peer in a second. */
const FAILURES = 40;
const OVER_ONE_MEBIBYTE = 1_100_000;

async function send(url: string, { method = 'GET', path = '/tokens', headers = {}, body = '' }: Refused) {
  const { host, port } = new URL(url);
  const all = { host, 'content-length': Buffer.byteLength(body), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const { responses } = await raw(Number(port), `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  return responses[0]?.status;
}

/**
 * Sends requests that are refused with statuses from 400 to 431, with canaries in bodies, queries, paths and headers.
 * Resolves to the statuses. Trace ids carry no canary because logs contain them.
 */
export async function sendRefused(
  url: string,
  { management, everything }: { readonly management: string; readonly everything: string },
  canaries: Canaries,
): Promise<ReadonlySet<number>> {
  const word = (what: string) => canaries.word(`request ${what}`, 'data');
  const key = { 'svc-api-key': everything };
  const post = { method: 'POST', headers: { ...key, ...JSON_BODY } } as const;
  const token = (members: object) => JSON.stringify({ type: 'token', ...members });
  const cases: readonly Refused[] = [
    { ...post, status: 400, body: `{"type":"token","data":"${word('cut')}` },
    { ...post, status: 400, body: token({ data: word('value'), [word('member')]: word('of a member') }) },
    { ...post, status: 400, body: token({ data: word('masked'), mask: `{% ${word('tag')} %}` }) },
    { status: 400, path: `/tokens?${word('parameter')}=${word('of a parameter')}`, headers: key },
    { status: 400, path: `/tokens?size=${word('size')}`, headers: key },
    { status: 401, headers: { 'svc-api-key': word('key'), cookie: word('cookie') } },
    { status: 401, headers: { authorization: `Bearer ${word('bearer')}` } },
    { status: 403, path: `/tokens/${word('id')}`, headers: { 'svc-api-key': management } },
    { status: 404, path: `/tokens/${word('unknown id')}`, headers: key },
    { status: 404, path: `/${word('route')}/${word('below')}?${word('route query')}`, headers: key },
    { status: 405, method: 'DELETE', path: `/tokens?${word('method query')}`, headers: key },
    { ...post, status: 409, body: token({ id: 'request-taken', data: word('taken') }) },
    { ...post, status: 413, body: `"${word('large')}${' '.repeat(OVER_ONE_MEBIBYTE)}"` },
    { status: 414, path: `/tokens?metadata.a=${word('long').repeat(500)}`, headers: key },
    { ...post, status: 415, headers: { ...key, 'content-type': `text/${word('type')}` }, body: word('typed body') },
    { status: 421, headers: { ...key, host: `${word('host')}.test` } },
    { status: 431, headers: { ...key, 'x-long': word('header').repeat(1_000) } },
  ];
  const seen = new Set<number>();
  await send(url, { ...post, status: 201, body: '{"id":"request-taken","type":"token","data":1}' });
  for (const refused of cases) {
    const status = await send(url, refused);
    if (status === undefined || status !== refused.status)
      throw new Error(`a request was answered ${status}, not ${refused.status}`);
    seen.add(status);
  }
  const { host, port } = new URL(url);
  const half = `POST /tokens HTTP/1.1\r\nHost: ${host}\r\nContent-Length: `;
  for (const text of [
    `GET /${word('raw')} ${word('protocol')}\r\n${word('raw header')}\r\n\r\n`,
    `${half}x${word('length')}\r\n\r\n${word('raw body')}`,
    `${half}100\r\n\r\n${word('half a body')}`,
  ]) {
    await raw(Number(port), text, { halfClose: true, untilClosed: true });
  }
  const guesses = Array.from({ length: FAILURES }, () =>
    send(url, { status: 429, headers: { 'svc-api-key': word('guess') } }),
  );
  for (const status of await Promise.all(guesses)) if (status !== undefined) seen.add(status);
  return seen;
}
