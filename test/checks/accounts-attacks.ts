import { requestTexts } from '../process/refused-requests.ts';
import type { Accounts } from './accounts-fixture.ts';
import type { Traffic } from './accounts-measure.ts';
import { guard, type SourceGuard } from './mutants-run.ts';

/** The most that an attack may cost. */
interface Bounds {
  /** The longest wait of another caller, in milliseconds. */
  readonly waitMs?: number;
  /** The largest resident memory of the daemon, in MiB. Default: 400 MB. */
  readonly peakMiB?: number;
  /** The daemon's processor seconds until its last reply, with no other caller. */
  readonly processor?: number;
  /** The successful replies a second, with as many at once before. */
  readonly rate?: number;
}

export interface Attack {
  readonly name: string;
  /** Returns what is sent. `share` of the connections or requests is enough for a quick run. */
  readonly traffic: (accounts: Accounts, share: number) => Omit<Traffic, 'port'>;
  readonly bounds: Bounds;
  /** The limit that stops the attack, and its source without it. The control needs one for each attack. */
  readonly guard?: SourceGuard;
  readonly quick?: 'attack' | 'control';
  readonly flags?: readonly string[];
  readonly nodeFlags?: readonly string[];
  /** The pause between the calls of the other caller, in milliseconds. */
  readonly pauseMs?: number;
  /** Whether the attack lasts until each connection has a reply, at most 20 s. Default: 4 s. */
  readonly untilAnswered?: boolean;
}

const MIB = 1024 * 1024;
const SMALL_PEAK = 250e6 / MIB;
/** The wait that others may have in each attack of accounts.md, unless it names another one. */
const WAIT_MS = 250;

/** A JSONPath whose steps multiply with the depth of the data. */
const DESCENTS = { type: 'token', data: nested(60), mask: `{{ data | json: '$${'..*'.repeat(60)}.zz' }}` };
/** A JSONPath with the slowest steps: each of its conditions makes lists of nodes. */
const CONDITIONS = {
  type: 'token',
  data: Array.from({ length: 150 }, () => 0),
  mask: `{{ data | json: '$[?${'@..* || '.repeat(100)}@ == 2]' }}`,
};
/** A search of 1 KB whose last negation leaves nothing. */
const NEGATIONS = [...Array.from({ length: 61 }, (_, at) => `NOT data:no${at}x`), 'NOT type:token'].join(' ');
/** A JSONPath that finds one item after almost all steps that it may take. */
const MATCH = {
  type: 'token',
  data: [...Array.from({ length: 100 }, () => 0), 1],
  mask: `{{ data | json: '$[?${'@..*..*||'.repeat(54)}@==1]' }}`,
};
const BATCH = Array.from({ length: 1_000 }, () => MATCH);

function nested(depth: number): object {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

const texts = ({ port }: Accounts, key: string) => requestTexts(() => port, key);

function post(accounts: Accounts, key: string, path: string, body: object): string {
  const text = JSON.stringify(body);
  const { host, auth } = texts(accounts, key);
  const length = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`;
  return `POST ${path} HTTP/1.1\r\n${host()}${auth}${length}${text}`;
}

/** The bytes that an unfinished body lacks, more than the seconds of an attack. */
const MISSING = 16;

/** Returns the text of a create whose body lacks its last bytes. */
function unfinished(accounts: Accounts, key: string, bytes: number): string {
  const auth = key === '' ? '' : texts(accounts, key).auth;
  const fields = `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  return `POST /tokens HTTP/1.1\r\n${texts(accounts, '').host()}${auth}${fields}${'x'.repeat(bytes - MISSING)}`;
}

const some = (number: number, share: number) => Math.max(1, Math.ceil(number * share));

/** Returns the list of 90 containers. Its page 900 of 100,000 tokens is far from both ends. */
function farPage(accounts: Accounts): string {
  const containers = Array.from({ length: 90 }, (_, at) => `container=${encodeURIComponent(`/q/c${at}/`)}`);
  const page = Math.floor((accounts.small / 100) * 0.9);
  return texts(accounts, accounts.attacker).get(`/tokens?${containers.join('&')}&page=${page}&size=100`);
}

const UNREAD = guard(
  'the bytes of unread replies',
  'src/vault/vault.ts',
  'REPLY_BYTES = { each: 32 * 1024 * 1024, all: 128 * 1024 * 1024 }',
  'REPLY_BYTES = { each: 1e12, all: 1e12 }',
);

const WORK = guard('the work of a call', 'src/core/work.ts', 'MAX_WORK_MS = 5_000', 'MAX_WORK_MS = 1e9');

const STEPS = guard(
  'one step in a tick',
  'src/core/slices.ts',
  'if (waiting.size === 0) afterArrivals(giveSlice);',
  'return Promise.resolve();',
);

const BODIES = guard(
  'the bytes of bodies of an account',
  'src/http/endpoints.ts',
  'BODY_BYTES = { each: 8 * MIB, all: 32 * MIB }',
  'BODY_BYTES = { each: 8 * MIB, all: 8 * MIB }',
);

const grownToken = (accounts: Accounts, share: number) => ({
  connections: some(300, share),
  texts: [texts(accounts, accounts.children[0] ?? '').get(`/tokens/${accounts.grown}`)],
});

/** The attacks of accounts.md, and the floods of bodies and pages that the limits stop, too. */
export const ATTACKS: readonly Attack[] = [
  {
    name: 'a grown token, 300 times',
    quick: 'attack',
    traffic: grownToken,
    bounds: { waitMs: WAIT_MS },
    guard: UNREAD,
  },
  {
    name: 'a grown token, on new connections',
    traffic: (accounts, share) => ({ ...grownToken(accounts, share), repeats: true }),
    bounds: { waitMs: WAIT_MS },
    guard: guard('the wait for connections', 'src/core/slices.ts', 'ARRIVALS_MS = 40', 'ARRIVALS_MS = 0'),
  },
  {
    name: 'creates with 60 descents',
    quick: 'control',
    traffic: (accounts, share) => ({
      connections: some(300, share),
      texts: [post(accounts, accounts.creator, '/tokens', DESCENTS)],
      reads: true,
    }),
    bounds: { waitMs: WAIT_MS, processor: 2 },
    guard: guard('the steps of an expression', 'src/contract/limits.ts', 'base: 64 * 1024', 'base: 2e7'),
  },
  {
    name: 'creates with 100 conditions',
    traffic: (accounts, share) => ({
      connections: some(1_000, share),
      texts: [post(accounts, accounts.creator, '/tokens', CONDITIONS)],
    }),
    bounds: { waitMs: WAIT_MS },
    guard: guard('the slices of work', 'src/core/slices.ts', 'SLICE_MS = 10', 'SLICE_MS = 1e9'),
  },
  {
    name: 'pages of 256 children, unread',
    quick: 'attack',
    traffic: (accounts, share) => ({
      connections: some(accounts.children.length, share),
      texts: accounts.children.map((key) => texts(accounts, key).get('/tokens?size=100&container=/l/').repeat(8)),
    }),
    bounds: { waitMs: WAIT_MS },
    nodeFlags: ['--max-old-space-size=1536'],
    guard: UNREAD,
  },
  {
    name: 'a search with 62 negations',
    quick: 'attack',
    traffic: (accounts) => ({
      connections: 1,
      texts: [post(accounts, accounts.attacker, '/tokens/search', { query: NEGATIONS })],
      reads: true,
    }),
    bounds: { waitMs: WAIT_MS, processor: 5 },
    guard: WORK,
    untilAnswered: true,
  },
  {
    name: 'page 900 of 90 containers',
    traffic: (accounts) => ({ connections: 1, texts: [farPage(accounts)], reads: true }),
    bounds: { waitMs: WAIT_MS, processor: 5 },
    guard: STEPS,
    untilAnswered: true,
  },
  {
    name: 'a scan by a partial container',
    traffic: (accounts) => ({ connections: 1, texts: [texts(accounts, accounts.scanner).get('/tokens')], reads: true }),
    bounds: { waitMs: WAIT_MS, processor: 5 },
    untilAnswered: true,
    guard: STEPS,
  },
  {
    name: 'one tokenize of 1 MiB',
    quick: 'attack',
    traffic: (accounts) => ({
      connections: 1,
      texts: [post(accounts, accounts.creator, '/tokenize', BATCH)],
      reads: true,
    }),
    // Without the limit of the call, those of its 1,000 expressions allow twice as much.
    bounds: { waitMs: WAIT_MS, processor: 1.5 },
    guard: guard('the steps of a call', 'src/core/work.ts', 'CALL_STEPS = 400 *', 'CALL_STEPS = 1e9 *'),
    untilAnswered: true,
  },
  {
    name: 'slow bodies of 64 KiB',
    traffic: (accounts) => ({
      connections: 384,
      texts: [unfinished(accounts, accounts.creator, 64 * 1024)],
      drips: true,
    }),
    bounds: { waitMs: 1_000 },
    guard: BODIES,
  },
  {
    name: 'slow bodies of 1 MiB',
    quick: 'attack',
    traffic: (accounts) => ({ connections: 8, texts: [unfinished(accounts, accounts.creator, MIB)], drips: true }),
    bounds: { waitMs: 1_000 },
    guard: BODIES,
  },
  {
    name: 'bodies of 1 MiB without a key',
    traffic: (accounts, share) => ({ connections: some(600, share), texts: [unfinished(accounts, '', MIB)] }),
    // Receiving and dropping the bodies takes time, but must take no memory.
    bounds: { waitMs: 5_000, peakMiB: SMALL_PEAK },
    guard: {
      name: 'the key before the body',
      file: 'src/http/endpoints.ts',
      from: 'take(sent, (reply) => {',
      to: `(async (...call: Parameters<typeof take>) => {
        if (sent.apiKey === undefined)
          try {
            await readBody(request, response, { limit, bodies: createQuota({ each: 1e12, all: 1e12 }) });
          } catch {
            return;
          }
        take(...call);
      })(sent, (reply) => {`,
    },
  },
  {
    name: 'a rate limit and 100 children',
    quick: 'attack',
    traffic: (accounts) => ({
      connections: 100,
      texts: accounts.children.map((key) => texts(accounts, key).get(`/tokens/${accounts.tiny}`).repeat(50)),
      reads: true,
    }),
    bounds: { waitMs: WAIT_MS, rate: 20 },
    guard: guard(
      'one account of a family',
      'src/core/authenticate.ts',
      "return type === 'expiring' ?",
      "return type === 'management' ?",
    ),
    flags: ['--rate-limit', '20/s'],
    pauseMs: 250,
  },
];
