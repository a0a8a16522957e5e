import type { RawOptions } from '../process/http-fixture.ts';
import { requestTexts } from '../process/refused-requests.ts';

/** Unusual but valid requests, and the expected statuses in order. */
export interface MannersCase {
  readonly name: string;
  readonly input: () => string | readonly string[];
  readonly statuses: readonly number[];
  readonly options?: RawOptions;
}

const TOKEN = '{"type":"token","data":"x"}';
const LENGTH = `Content-Length: ${TOKEN.length}\r\n`;

/**
 * Returns slow, split, half-closed and pipelined requests. Pipelined requests carry the trace ids `trace-0`, `trace-1`,
 * and so on.
 */
export function mannersCases(port: () => number, key: string): readonly MannersCase[] {
  const { get, post } = requestTexts(port, key);
  const traced = (index: number) => `SVC-TRACE-ID: trace-${index}\r\n`;
  return [
    { name: 'a byte at a time', input: () => [...get('/livez')], statuses: [200], options: { pause: 5 } },
    {
      name: 'slow headers',
      input: () => get('/tokens').split(/(?<=\r\n)/),
      statuses: [200],
      options: { pause: 500 },
    },
    {
      name: 'a slow body',
      input: () => [post(LENGTH, ''), ...(TOKEN.match(/.{1,9}/g) ?? [])],
      statuses: [201],
      options: { pause: 500 },
    },
    {
      name: 'a slow body of chunks',
      input: () => [
        post('Transfer-Encoding: chunked\r\n', ''),
        `${TOKEN.length.toString(16)}\r\n`,
        `${TOKEN}\r\n`,
        '0\r\n\r\n',
      ],
      statuses: [201],
      options: { pause: 500 },
    },
    { name: 'half-closed after a GET', input: () => get('/tokens'), statuses: [200], options: { halfClose: true } },
    {
      name: 'half-closed after a body',
      input: () => post(LENGTH, TOKEN),
      statuses: [201],
      options: { halfClose: true },
    },
    {
      name: 'a pipeline of GETs',
      input: () => [0, 1, 2, 3, 4].map((index) => get('/tokens', traced(index))).join(''),
      statuses: [200, 200, 200, 200, 200],
    },
    {
      name: 'a pipeline of writes and reads',
      input: () =>
        [post(traced(0) + LENGTH, TOKEN), get('/tokens', traced(1)), post(traced(2) + LENGTH, TOKEN)].join(''),
      statuses: [201, 200, 201],
    },
    {
      name: 'a pipeline with refusals in it',
      input: () =>
        [get('/tokens', traced(0)), get('/nowhere', traced(1)), post(`${traced(2)}Content-Length: 1\r\n`, '{')]
          .concat(get('/tokens', traced(3)))
          .join(''),
      statuses: [200, 404, 400, 200],
    },
    {
      name: 'a pipeline, half-closed',
      input: () => get('/tokens', traced(0)) + get('/tokens', traced(1)),
      statuses: [200, 200],
      options: { halfClose: true },
    },
    { name: 'empty lines before a request', input: () => `\r\n\r\n${get('/livez')}`, statuses: [200] },
    {
      name: 'an expectation of 100-continue',
      input: () => [post(`Expect: 100-continue\r\n${LENGTH}`, ''), TOKEN],
      statuses: [201],
    },
  ];
}
