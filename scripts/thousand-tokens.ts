/**
 * Tests the vault with realistic input. Posts mixed tokens over HTTP and reads them as a masking and as a revealing
 * application, over HTTP and from the file, while the daemon runs. Then searches the vault's files for the input, and
 * kills the daemon during writes. Exits with 1 on any difference.
 *
 *   node scripts/thousand-tokens.ts [--count 1000]
 */
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Pool } from 'undici';
import { passesAba, passesLuhn } from '../src/core/tokens/validate-data.ts';
import { parseFlags } from './parse-flags.ts';
import { bareEnvironment, type ServedVault, serve, vault } from './run-vault.ts';

const { values: flags } = parseFlags('thousand-tokens', 'node scripts/thousand-tokens.ts [--count N]', {
  options: { count: { type: 'string', default: '1000' } },
});
const COUNT = Number(flags.count);
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const MASKING = 'Masking-Canary-App';
const REVEALING = 'Revealing-Canary-App';
const NAMES = [MASKING, REVEALING, '/pci/high/', '/bank/high/', '/canary/shelf/', 'default'];

const folder = mkdtempSync(path.join(tmpdir(), 'vault-thousand-'));
const file = path.join(folder, 'vault.db');
const environment = { ...bareEnvironment(folder), VAULT_FILE: file };

const digits = (count: number) => Array.from({ length: count }, () => randomInt(10)).join('');
const letters = (count: number) => Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('');
function withCheckDigit(body: string, passes: (digits: string) => boolean): string {
  const found = [...'0123456789'].map((digit) => body + digit).find(passes);
  if (found === undefined) throw new Error(`no check digit fits ${body}`);
  return found;
}
const lastFour = (text: string) => 'X'.repeat([...text].length - 4) + [...text].slice(-4).join('');

/** The body of a request that creates a token. */
interface Body {
  readonly type: string;
  readonly data: unknown;
  readonly metadata?: unknown;
  readonly [member: string]: unknown;
}

/** A token to post, its masked form, and the texts that the files must not contain. */
interface Input {
  readonly body: Body;
  readonly masked: unknown;
  readonly secrets: readonly string[];
}

/** A token that the vault has answered. */
interface Answered {
  readonly id: string;
  readonly data?: unknown;
  readonly metadata?: unknown;
}

type Posted = Answered & Input;

interface AnsweredPage {
  readonly data: readonly Answered[];
  readonly pagination: { readonly total_pages: number };
}

/** A daemon with connections to it. */
interface Daemon extends ServedVault {
  readonly pool: Pool;
}

/**
 * Functions that make a token of one kind, its masked form (computed without the vault), and a secret to search for.
 */
const KINDS: readonly ((index: number) => {
  readonly body: Body;
  readonly masked?: unknown;
  readonly secret: string;
})[] = [
  () => {
    const number = withCheckDigit(`424242${digits(9)}`, passesLuhn);
    const expiry = { expiration_month: randomInt(1, 13), expiration_year: 2030 };
    const data = { number, ...expiry, cvc: digits(3) };
    return { body: { type: 'card', data }, masked: { number: lastFour(number), ...expiry }, secret: number };
  },
  () => {
    const data = { routing_number: withCheckDigit(`0${digits(7)}`, passesAba), account_number: digits(12) };
    const masked = { ...data, account_number: lastFour(data.account_number) };
    return { body: { type: 'bank', data }, masked, secret: data.account_number };
  },
  () => {
    const secret = letters(24);
    const data = { person: { name: secret, tags: ['a', null, true, 1.5], deeper: [{ still: { deeper: secret } }] } };
    return { body: { type: 'token', data, containers: ['/canary/shelf/'] }, secret };
  },
  () => {
    const data = `Zoë ✓ 漢字 🃏 ${letters(20)}`;
    return { body: { type: 'token', data, mask: '{{ data | reveal_last: 4 }}' }, masked: lastFour(data), secret: data };
  },
  (index) => {
    // Every twentieth text has 100 KB.
    const data = letters(index % 100 === 4 ? 100 * 1024 : 32);
    return { body: { type: 'token', data }, secret: data.slice(0, 64) };
  },
];

function makeToken(_: unknown, index: number): Input {
  const kind = KINDS[index % KINDS.length];
  if (kind === undefined) throw new Error('there are no kinds');
  const { body, masked, secret } = kind(index);
  const metadata = { customer: `canary-${letters(12)}`, note: `Nöte-${letters(8)}` };
  return { body: { ...body, metadata }, masked, secrets: [secret, ...Object.values(metadata)] };
}

async function start(): Promise<Daemon> {
  const daemon = await serve([], environment);
  return { ...daemon, pool: new Pool(daemon.url, { connections: 16 }) };
}

async function request({ pool }: Daemon, key: string, method: 'GET' | 'POST', path: string, body?: object) {
  const headers = { 'svc-api-key': key, ...(body && { 'content-type': 'application/json' }) };
  const reply = await pool.request({ method, path, headers, body: body ? JSON.stringify(body) : null });
  const text = await reply.body.text();
  if (reply.statusCode >= 300) throw new Error(`${method} ${path} answered ${reply.statusCode}: ${text}`);
  return JSON.parse(text);
}

/** Runs `work` on all items, `width` at a time. Resolves to the results in the order of the items. */
async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>, width = 16): Promise<readonly R[]> {
  const queue = items.entries();
  const results: R[] = [];
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

function report(what: string, right: number, of: number): void {
  if (right !== of) process.exitCode = 1;
  console.log(`${right === of ? 'ok ' : 'NOT'}  ${what.padEnd(62)} ${right} of ${of}`);
}

/** Returns the data that a reader gets. */
type Wanted = (input: Input) => unknown;

/** Reports how many posted tokens are among `tokens` with their metadata and the expected data. */
function compare(what: string, tokens: readonly (Answered | undefined)[], posted: readonly Posted[], wanted: Wanted) {
  const byId = new Map(tokens.map((token) => [token?.id, token]));
  const right = posted.filter((one) => {
    const { data, metadata } = byId.get(one.id) ?? {};
    return isDeepStrictEqual([data, metadata], [wanted(one), one.body.metadata]);
  });
  report(what, right.length, posted.length);
}

async function listAll(readPage: (page: number) => Promise<AnsweredPage>): Promise<readonly Answered[]> {
  const tokens: Answered[] = [];
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await readPage(page);
    tokens.push(...data);
    if (page >= pagination.total_pages) return tokens;
  }
}

/** Reports for how many texts it is as `wanted`: the vault's files contain the text in clear (true), or not (false). */
function search(what: string, texts: readonly string[], wanted: boolean): void {
  const names = ['', '-wal', '-shm'].map((end) => file + end).filter((name) => existsSync(name));
  const bytes = Buffer.concat(names.map((name) => readFileSync(name)));
  report(what, texts.filter((text) => bytes.includes(text) === wanted).length, texts.length);
}

/** An application that reads the tokens. */
interface Reader {
  readonly name: string;
  readonly key: string;
  readonly wanted: Wanted;
}

async function readBack(daemon: Daemon, posted: readonly Posted[], { name, key, wanted }: Reader): Promise<void> {
  const env = { ...environment, VAULT_API_KEY: key };
  const listPage = (page: number) => request(daemon, key, 'GET', `/tokens?size=100&page=${page}`);
  const listFilePage = (page: number) => vault(['tokens', 'list', '--size', '100', '--page', String(page)], env);
  const get = ({ id }: Answered) => request(daemon, key, 'GET', `/tokens/${id}`);
  const getFromFile = ({ id }: Answered) => vault(['tokens', 'get', id], env);
  const same = (what: string, tokens: readonly Answered[]) => compare(what, tokens, posted, wanted);
  same(`HTTP  ${name} application lists them`, await listAll(listPage));
  same(`HTTP  ${name} application gets each`, await inParallel(posted, get));
  same(`file  ${name} application lists them while the daemon runs`, await listAll(listFilePage));
  same(`file  ${name} application gets each while the daemon runs`, await inParallel(posted, getFromFile, 4));
}

/** Posts tokens and kills the daemon meanwhile. Resolves to the tokens that it acknowledged. */
async function killWhilePosting(daemon: Daemon, post: (input: Input) => Promise<Posted>): Promise<readonly Posted[]> {
  const acknowledged: Posted[] = [];
  const posting = inParallel(Array.from({ length: COUNT }, makeToken), async (input) => {
    const made = await post(input).catch(() => undefined); // The daemon may be dead.
    if (made) acknowledged.push(made);
  });
  while (acknowledged.length < COUNT / 5) await sleep(1);
  await daemon.end('SIGKILL');
  await posting;
  await daemon.pool.destroy();
  return acknowledged;
}

const { application }: { readonly application: { readonly key: string } } = await vault(['init'], environment);
let daemon = await start();
try {
  const rule = { description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: ['token:read'] };
  const makeKey = async (body: object): Promise<string> =>
    (await request(daemon, application.key, 'POST', '/applications', { type: 'private', ...body })).key;
  const masking = await makeKey({ name: MASKING, permissions: ['token:create', 'token:read'] });
  const revealing = await makeKey({ name: REVEALING, permissions: ['token:create'], rules: [rule] });

  const post = async (input: Input): Promise<Posted> => ({
    ...(await request(daemon, masking, 'POST', '/tokens', input.body)),
    ...input,
  });
  const inputs = Array.from({ length: COUNT }, makeToken);
  const started = performance.now();
  const posted = await inParallel(inputs, post);
  const seconds = (performance.now() - started) / 1000;
  console.log(`${COUNT} tokens posted in ${seconds.toFixed(2)} s (${Math.round(COUNT / seconds)} a second)`);

  const wanted = ({ body }: Input) => body.data;
  await readBack(daemon, posted, { name: 'masking', key: masking, wanted: ({ masked }) => masked });
  await readBack(daemon, posted, { name: 'revealing', key: revealing, wanted });

  const secrets = posted.flatMap((token) => token.secrets);
  search('file, WAL and shm hold none of the values', secrets, false);
  search('file, WAL and shm hold none of the names', NAMES, false);
  search(
    'control: an unsealed id is found',
    posted.slice(0, 1).map(({ id }) => id),
    true,
  );

  const acknowledged = await killWhilePosting(daemon, post);
  daemon = await start();
  const get = ({ id }: Answered): Promise<Answered | undefined> =>
    request(daemon, revealing, 'GET', `/tokens/${id}`).catch(() => undefined);
  const survived = await inParallel(acknowledged, get);
  compare('SIGKILL while posting: acknowledged tokens are still there', survived, acknowledged, wanted);
  await daemon.pool.close();
  const code = await daemon.end();
  report(`the daemon at ${new URL(daemon.url).hostname} stops with exit code 0`, code === 0 ? 1 : 0, 1);
} finally {
  await daemon.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
