import { setTimeout as sleep } from 'node:timers/promises';
import { PROBLEMS } from '../../src/contract/problems.ts';
import { DEFAULT_TIMEOUTS } from '../../src/http/daemon-options.ts';
import { flawsOfProblem, type RawOptions, raw } from '../process/http-fixture.ts';
import { type RefusedCase, refusedRequests, requestTexts } from '../process/refused-requests.ts';
import { startBareServer } from './bare-server.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { inParallel, seededNumbers } from './perform.ts';
import { descriptorsOf } from './process-figures.ts';
import { startServedVault } from './served-vault.ts';

/** An unusual but valid input, and the expected statuses in order. */
type MannersCase = readonly [
  name: string,
  input: string | readonly string[],
  statuses: readonly number[],
  options?: RawOptions,
];

const TOKEN = '{"type":"token","data":"x"}';
const LENGTH = `Content-Length: ${TOKEN.length}\r\n`;

/** Returns slow, split, half-closed and pipelined requests, the latter with the trace ids `trace-0` and so on. */
function mannersCases(port: () => number, key: string): readonly MannersCase[] {
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

const MIN_CASES = 28;
const WIDTH = 12;
const PATIENCE_MS = DEFAULT_TIMEOUTS.request + 5_000;
const SETTLE_MS = 10_000;
/** The limits that `refusedRequests` assumes. */
const LIMITS = ['--max-body', '1000', '--max-url', '500', '--max-headers', '2000'];

interface Target {
  readonly port: number;
  readonly key: string;
}

interface Tally {
  cases: number;
  connections: number;
  readonly wrong: string[];
}

/** Sends a malformed request. Checks the refusal, and whether the connection is closed or still usable as expected. */
async function refuse({ port, key }: Target, one: RefusedCase, tally: Tally): Promise<void> {
  const sent = one.input();
  const first = await raw(port, sent, { ...one.options, untilClosed: one.closes, patience: PATIENCE_MS });
  const [response] = first.responses;
  const flaws = [...flawsOfProblem(response, one.code)];
  if (response?.headers.get('allow') !== one.allow) flaws.push('allow');
  if (first.responses.length !== 1) flaws.push(`${first.responses.length} responses`);
  if (one.closes && !first.closed) flaws.push('left open');
  tally.connections++;
  if (!one.closes) {
    const pieces = typeof sent === 'string' || Buffer.isBuffer(sent) ? [sent] : sent;
    const again = await raw(port, [...pieces, requestTexts(() => port, key).get('/livez')], { expect: 2 });
    tally.connections++;
    const statuses = again.responses.map(({ status }) => status).join();
    if (statuses !== `${PROBLEMS[one.code].status},200`) flaws.push(`then ${statuses}`);
  }
  tally.cases++;
  if (flaws.length > 0) tally.wrong.push(`${one.name}: ${flaws.join(', ')}`);
}

async function behave({ port }: Target, [name, input, statuses, options]: MannersCase, tally: Tally): Promise<void> {
  const { responses } = await raw(port, input, { expect: statuses.length, patience: PATIENCE_MS, ...options });
  const seen = responses.map(({ status }) => status).join();
  const order = responses.map(({ headers }) => headers.get('svc-trace-id')).join();
  tally.cases++;
  tally.connections++;
  if (seen !== statuses.join()) tally.wrong.push(`${name}: ${seen} instead of ${statuses.join()}`);
  // Pipelined requests carry their position as trace id.
  else if (statuses.length > 1 && order !== statuses.map((_, index) => `trace-${index}`).join()) {
    tally.wrong.push(`${name}: answered in the order ${order}`);
  }
}

/** Runs all cases. The seed sets the moments at which clients disconnect. */
async function runCases(target: Target, { seed, quick }: CheckOptions): Promise<Tally> {
  const random = seededNumbers(seed);
  const tally: Tally = { cases: 0, connections: 0, wrong: [] };
  const port = () => target.port;
  const refusals = refusedRequests(port, target.key).filter((one) => !quick || one.code !== 'request_timeout');
  const cut = refusals.map((one) => ({ one, after: Math.floor(random() * 40) }));
  const work = [
    // Start the slow cases first, so that they wait while the others run.
    ...refusals.toSorted((a, b) => rank(b) - rank(a)).map((one) => () => refuse(target, one, tally)),
    ...mannersCases(port, target.key).map((one) => () => behave(target, one, tally)),
    ...cut.map(({ one, after }) => async () => {
      await raw(target.port, one.input(), { abortAfter: after });
      tally.connections++;
    }),
  ];
  await inParallel(work.length, WIDTH, async (index) => {
    // `raw` rejects when the bytes are not an HTTP response.
    await work[index]?.().catch((error: unknown) => tally.wrong.push(String(error)));
  });
  return tally;
}

function rank({ code }: RefusedCase): number {
  return code === 'request_timeout' ? 1 : 0;
}

function judge(tally: Tally, figures: Figures): Figures {
  const all = { cases: tally.cases, connections: tally.connections, wrong: tally.wrong.length, ...figures };
  if (tally.wrong.length > 0) throw new CheckFailure(tally.wrong.slice(0, 3).join('; '), all);
  if (tally.cases < MIN_CASES) throw new CheckFailure('too few cases', all);
  return all;
}

async function run(options: CheckOptions): Promise<Figures> {
  await using vault = await startServedVault({ flags: LIMITS });
  const target = { port: Number(new URL(vault.url()).port), key: vault.everything };
  const { get } = requestTexts(() => target.port, target.key);
  const alive = async () =>
    (await raw(target.port, get('/tokens', 'Connection: close\r\n'), { untilClosed: true })).responses[0]?.status;
  if ((await alive()) !== 200) throw new CheckFailure('it does not answer');
  const before = await withWriterThread(target, () => descriptorsOf(vault.pid()));
  const tally = await runCases(target, options);
  const after = await settled(() => descriptorsOf(vault.pid()), before);
  const figures = {
    descriptors_before: before,
    descriptors_after: after,
    alive: vault.running() && (await alive()) === 200,
  };
  const all = judge(tally, figures);
  if (!figures.alive) throw new CheckFailure('it does not answer afterwards', all);
  if (after !== before) throw new CheckFailure(`${after - before} descriptors more than before`, all);
  return all;
}

/** Counts the daemon's descriptors while its writer thread, which simultaneous writes start, keeps files open. */
async function withWriterThread(target: Target, look: () => number): Promise<number> {
  const without = await standing(look);
  for (let tries = 0; tries < 20; tries += 1) {
    await writeTogether(target);
    const found = await standing(look);
    if (found > without) return found;
  }
  throw new CheckFailure('concurrent writes start no thread');
}

async function standing(look: () => number): Promise<number> {
  for (let last = look(); ; ) {
    await sleep(1_000);
    const now = look();
    if (now === last) return now;
    last = now;
  }
}

async function writeTogether({ port, key }: Target): Promise<void> {
  const body = '{"type":"token","data":1}';
  const { post } = requestTexts(() => port, key);
  const bytes = post(`Connection: close\r\nContent-Length: ${body.length}\r\n`, body);
  const replies = await Promise.all(Array.from({ length: 16 }, () => raw(port, bytes, { untilClosed: true })));
  if (replies.some(({ responses }) => responses[0]?.status !== 201)) throw new CheckFailure('it does not write');
}

/** Resolves to the value when it equals `wanted`, or to the last value after `SETTLE_MS`. */
async function settled(look: () => number, wanted: number): Promise<number> {
  const started = performance.now();
  while (look() !== wanted && performance.now() - started < SETTLE_MS) await sleep(100);
  return look();
}

/** Runs the cases on a server that accepts every request. */
async function control({ seed }: CheckOptions): Promise<Figures> {
  using bare = await startBareServer();
  return judge(await runCases({ port: bare.port, key: 'key' }, { seed, quick: true }), {});
}

export const CHECK: Check = { number: 10, name: 'malformed HTTP', quick: false, run, control };
