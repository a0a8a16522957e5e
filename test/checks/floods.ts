import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestTexts } from '../process/refused-requests.ts';
import { CheckFailure, type Figures } from './check.ts';
import { patchProduct } from './patched-product.ts';
import { inParallel } from './perform.ts';
import { peakMiB, residentMiB } from './process-figures.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

/** A page just below the response limit of 16 MiB. */
const LARGE = { tokens: 100, bytes: 160_000 };
const SMALL_TOKENS = 60_000;
const PIPELINED = 64;
const READERS = 64;
const STRANGERS = 600;
const UPLOADS = 1_000;
const BODY_BYTES = 1024 * 1024;
/** All but the last byte of a body, so that the daemon keeps waiting for it. */
const UNFINISHED = Buffer.alloc(BODY_BYTES - 1, 'x');
const CREATE = Buffer.from(`{"type":"token","data":"`.padEnd(BODY_BYTES - 2, 'x').concat('"}'));
/** The creates that a public key sends at once, each with a heavy expression. */
const [EXPRESSIONS, MORE_EXPRESSIONS] = [300, 1_000];
/** A JSONPath whose steps multiply with the depth of the data. */
const DESCENTS = { type: 'token', data: nested(60), mask: `{{ data | json: '$${'..*'.repeat(60)}.zz' }}` };
/** A JSONPath with the slowest steps: each of its conditions makes lists of nodes. */
const CONDITIONS = {
  type: 'token',
  data: Array.from({ length: 150 }, () => 0),
  mask: `{{ data | json: '$[?${'@..* || '.repeat(100)}@ == 2]' }}`,
};
const FLOOD_MS = 4_000;
/** 250 MB, in MiB. */
const MAX_PEAK = 250e6 / 1024 / 1024;
/**
 * The maximum cost of a flood: growth of the daemon's memory and its largest memory in MiB, and the wait of another
 * caller in milliseconds.
 */
const MAX_COST: Readonly<Record<FloodName, Partial<Cost>>> = {
  pipeline: { mib: 160, ms: 1_500 },
  readers: { mib: 600, ms: 1_500 },
  scan: { mib: 200, ms: 200 },
  // Receiving and dropping the bodies takes time, but must take no memory.
  bodies: { mib: 200, ms: 5_000 },
  uploads: { peak: MAX_PEAK, ms: 5_000 },
  expressions: { ms: 2_000 },
  turns: { ms: 2_000 },
};

/**
 * The guard code in the built product, and its replacement without the guard. `readers` has no entry because several
 * guards stop it; unit tests and mutants cover each of them.
 */
const GUARDS: Readonly<Partial<Record<FloodName, readonly [before: string, after: string]>>> = {
  pipeline: ['before===void 0||before.writableFinished', 'true'],
  scan: ['lines.size===0&&setImmediate(giveTurn);', 'return Promise.resolve();'],
  bodies: [
    'take(sent,reply=>{',
    '(async(...call)=>{await readBody(request,response,{limit,budget:createByteBudget(Infinity)});take(...call)})(sent,reply=>{',
  ],
  uploads: ['held>0&&held+one.bytes>limit', 'false'],
  expressions: ['base:65536', 'base:4e7'],
  turns: ['TURN_MS=10', 'TURN_MS=1e9'],
};

/** A served vault and the keys that the floods use. */
interface Flooded {
  readonly vault: ServedVault;
  readonly port: number;
  /** Reads all tokens, enough to fill a page. */
  readonly reader: string;
  /** Reads by a rule that matches part of a container segment. */
  readonly scanner: string;
  /** Creates tokens and reads none. */
  readonly creator: string;
  readonly bystander: string;
}

type FloodName = 'pipeline' | 'readers' | 'scan' | 'bodies' | 'uploads' | 'expressions' | 'turns';

interface Cost {
  readonly mib: number;
  readonly peak: number;
  readonly ms: number;
}

/**
 * Opens several connections, a hundred at a time, so that the system's queue of new connections drops none. Then sends
 * its standard input on all of them, and never reads the replies. Exits after a minute.
 */
const SENDER = `
const { once } = require('node:events');
const { connect } = require('node:net');
const bytes = require('node:fs').readFileSync(0);
const [port, count] = process.argv.slice(1).map(Number);
function open() {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.pause();
  socket.on('error', () => undefined);
  return once(socket, 'connect').then(() => socket);
}
async function send() {
  const sockets = [];
  while (sockets.length < count) {
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(100, count - sockets.length) }, open))));
  }
  for (const socket of sockets) socket.write(bytes);
}
send();
setTimeout(() => process.exit(), 60000);
`;

/** Runs the sender in its own process, so that sending does not delay the measurements. */
function sendUnread(port: number, count: number, bytes: string | Buffer): ChildProcess {
  const sender = spawn(process.execPath, ['-e', SENDER, String(port), String(count)], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  sender.stdin?.on('error', () => undefined);
  sender.stdin?.end(bytes);
  return sender;
}

/** The senders of each flood, which flood the same daemon one after another. */
const FLOODS: Readonly<Record<FloodName, readonly ((flooded: Flooded) => ChildProcess)[]>> = {
  pipeline: [
    ({ port, reader }) =>
      sendUnread(
        port,
        1,
        requestTexts(() => port, reader)
          .get('/tokens?size=100')
          .repeat(PIPELINED),
      ),
  ],
  readers: [({ port, reader }) => sendUnread(port, READERS, requestTexts(() => port, reader).get('/tokens?size=100'))],
  scan: [({ port, scanner }) => sendUnread(port, 1, requestTexts(() => port, scanner).get('/tokens'))],
  bodies: [({ port }) => sendBodies(port, STRANGERS, '', UNFINISHED)],
  uploads: [UNFINISHED, CREATE, UNFINISHED, CREATE].map(
    (body) =>
      ({ port, reader }) =>
        sendBodies(port, UPLOADS, `SVC-API-KEY: ${reader}\r\n`, body),
  ),
  expressions: [(flooded) => sendCreates(flooded, EXPRESSIONS, DESCENTS)],
  turns: [(flooded) => sendCreates(flooded, MORE_EXPRESSIONS, CONDITIONS)],
};

function sendCreates({ port, creator }: Flooded, count: number, body: object): ChildProcess {
  const text = JSON.stringify(body);
  const { post } = requestTexts(() => port, creator);
  return sendUnread(port, count, post(`Content-Length: ${Buffer.byteLength(text)}\r\n`, text));
}

function nested(depth: number): object {
  return depth === 0 ? {} : { a: nested(depth - 1) };
}

function sendBodies(port: number, count: number, key: string, body: Buffer): ChildProcess {
  const { host } = requestTexts(() => port, '');
  const fields = `${host()}${key}Content-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n`;
  return sendUnread(port, count, Buffer.concat([Buffer.from(`POST /tokens HTTP/1.1\r\n${fields}\r\n`), body]));
}

const NAMES = Object.keys(FLOODS) as FloodName[];

/** Floods for a few seconds with each sender. Resolves to what it costs the daemon and another caller. */
async function flood(name: FloodName, flooded: Flooded): Promise<Cost> {
  const { vault } = flooded;
  const pid = vault.pid();
  const before = residentMiB(pid);
  let [mib, ms] = [0, 0];
  for (const send of FLOODS[name]) {
    const sender = send(flooded);
    try {
      for (const started = performance.now(); performance.now() - started < FLOOD_MS; ) {
        const asked = performance.now();
        const statuses = await askBeside(name, flooded);
        const refused = statuses.find((status) => status >= 300);
        if (refused !== undefined)
          throw new CheckFailure(`${name}: a caller beside the flood is answered with ${refused}`);
        ms = Math.max(ms, performance.now() - asked);
        mib = Math.max(mib, residentMiB(pid) - before);
        await sleep(10);
      }
    } finally {
      sender.kill('SIGKILL');
    }
  }
  return { mib, peak: peakMiB(pid), ms };
}

/** Asks as another caller. Beside creates, also creates and reads a token. Resolves to the statuses. */
async function askBeside(name: FloodName, { vault, bystander, reader }: Flooded): Promise<readonly number[]> {
  const { status } = await vault.remote(bystander, 'getTenant');
  if (name !== 'expressions' && name !== 'turns') return [status];
  const made = await vault.remote(reader, 'createToken', { body: { type: 'token', data: 1 } });
  const read = await vault.remote(reader, 'getToken', { id: String(made.body['id']) });
  return [status, made.status, read.status];
}

async function prepare(vault: ServedVault): Promise<Pick<Flooded, 'reader' | 'scanner' | 'creator' | 'bystander'>> {
  const create = (body: object) => vault.direct(vault.everything, 'createToken', { body });
  await inParallel(SMALL_TOKENS, 64, async () => void (await create({ type: 'token', data: 1, containers: ['/q1/'] })));
  const data = 'x'.repeat(LARGE.bytes);
  await inParallel(LARGE.tokens, 8, async () => void (await create({ type: 'token', data, containers: ['/l/'] })));
  const conditions = [{ attribute: 'container', operator: 'starts_with', value: '/q' }];
  const rule = { description: '', priority: 1, conditions, transform: 'reveal', permissions: ['token:read'] };
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const scanner = { name: 'scanner', type: 'expiring', rules: [rule], expires_at };
  const made = await vault.direct(vault.management, 'createApplication', { body: scanner });
  const creating = { name: 'creator', type: 'public', permissions: ['token:create'] };
  const creator = await vault.direct(vault.management, 'createApplication', { body: creating });
  return {
    reader: vault.everything,
    scanner: String(made.body['key']),
    creator: String(creator.body['key']),
    bystander: vault.management,
  };
}

/** Runs each flood on a fresh daemon of the build that `binOf` returns. */
async function measure(
  names: readonly FloodName[],
  binOf: (name: FloodName) => string | undefined,
): Promise<Record<FloodName, Cost>> {
  const vault = await serveVault();
  const costs: Partial<Record<FloodName, Cost>> = {};
  try {
    const keys = await prepare(vault);
    for (const name of names) {
      const bin = binOf(name);
      await vault.start(bin === undefined ? {} : { bin });
      const port = Number(new URL(vault.url()).port);
      costs[name] = await flood(name, { vault, port, ...keys });
      await vault.kill();
    }
  } finally {
    await vault.close();
  }
  return costs as Record<FloodName, Cost>;
}

function isTooMuch(name: FloodName, cost: Cost): boolean {
  const { mib = Number.POSITIVE_INFINITY, peak = Number.POSITIVE_INFINITY, ms = 0 } = MAX_COST[name];
  return cost.mib > mib || cost.peak > peak || cost.ms > ms;
}

function figuresOf(costs: Record<FloodName, Cost>): Figures {
  return Object.fromEntries(
    NAMES.flatMap((name) => [
      [`${name}_mib`, Math.round(costs[name].mib)],
      [`${name}_peak_mib`, Math.round(costs[name].peak)],
      [`${name}_stall_ms`, Math.round(costs[name].ms)],
    ]),
  );
}

/** Runs every flood. Rejects with a `CheckFailure` when one takes too much memory or delays other callers too long. */
export async function withstandFloods(): Promise<Figures> {
  const costs = await measure(NAMES, () => undefined);
  const [worst] = NAMES.filter((name) => isTooMuch(name, costs[name]));
  if (worst !== undefined) throw new CheckFailure(`the flood "${worst}" costs too much`, figuresOf(costs));
  return figuresOf(costs);
}

/** Measures each flood without its guard. Rejects when a flood costs little, because its guard would be untested. */
export async function floodUnguarded(): Promise<void> {
  const products = new Map(Object.entries(GUARDS).map(([name, guard]) => [name, patchProduct(...guard)]));
  const names = NAMES.filter((name) => products.has(name));
  try {
    const costs = await measure(names, (name) => products.get(name)?.bin);
    const harmless = names.filter((name) => !isTooMuch(name, costs[name]));
    if (harmless.length > 0) {
      throw new Error(`without their guards harmless: ${harmless.join()}; ${JSON.stringify(costs)}`);
    }
  } finally {
    for (const product of products.values()) product.remove();
  }
}
