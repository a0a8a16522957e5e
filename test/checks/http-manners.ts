import type { RawOptions } from '../process/http-fixture.ts';
import { requestTexts } from '../process/refused-requests.ts';

/** An unusual but valid input, and the expected statuses in order. */
export type MannersCase = readonly [
  name: string,
  input: string | readonly string[],
  statuses: readonly number[],
  options?: RawOptions,
];

const TOKEN = '{"type":"token","data":"x"}';
const LENGTH = `Content-Length: ${TOKEN.length}\r\n`;

/**
 * Returns slow, split, half-closed and pipelined requests. Pipelined requests carry the trace ids `trace-0`, `trace-1`,
 * and so on.
 */
export function mannersCases(port: () => number, key: string): readonly MannersCase[] {
  const { get, post } = requestTexts(port, key);
  const traced = (index: number) => `SVC-TRACE-ID: trace-${index}\r\n`;
  const slowly = { pause: 500 };
  const chunk = `${TOKEN.length.toString(16)}\r\n`;
  return [
    ['a byte at a time', [...get('/livez')], [200], { pause: 5 }],
    ['slow headers', get('/tokens').split(/(?<=\r\n)/), [200], slowly],
    ['a slow body', [post(LENGTH, ''), ...(TOKEN.match(/.{1,9}/g) ?? [])], [201], slowly],
    [
      'a slow body of chunks',
      [post('Transfer-Encoding: chunked\r\n', ''), chunk, `${TOKEN}\r\n`, '0\r\n\r\n'],
      [201],
      slowly,
    ],
    ['half-closed after a GET', get('/tokens'), [200], { halfClose: true }],
    ['half-closed after a body', post(LENGTH, TOKEN), [201], { halfClose: true }],
    [
      'a pipeline of GETs',
      [0, 1, 2, 3, 4].map((index) => get('/tokens', traced(index))).join(''),
      [200, 200, 200, 200, 200],
    ],
    [
      'a pipeline of writes and reads',
      post(traced(0) + LENGTH, TOKEN) + get('/tokens', traced(1)) + post(traced(2) + LENGTH, TOKEN),
      [201, 200, 201],
    ],
    [
      'a pipeline with refusals in it',
      get('/tokens', traced(0)) +
        get('/nowhere', traced(1)) +
        post(`${traced(2)}Content-Length: 1\r\n`, '{') +
        get('/tokens', traced(3)),
      [200, 404, 400, 200],
    ],
    ['a pipeline, half-closed', get('/tokens', traced(0)) + get('/tokens', traced(1)), [200, 200], { halfClose: true }],
    ['empty lines before a request', `\r\n\r\n${get('/livez')}`, [200]],
    ['an expectation of 100-continue', [post(`Expect: 100-continue\r\n${LENGTH}`, ''), TOKEN], [201]],
  ];
}
