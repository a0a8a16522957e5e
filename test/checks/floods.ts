import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestTexts } from '../process/refused-requests.ts';
import { CheckFailure, type Figures } from './check.ts';
import { patchProduct } from './patched-product.ts';
import { inParallel } from './perform.ts';
import { residentMiB } from './process-figures.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

/** A page just below the response limit of 16 MiB. */
const LARGE = { tokens: 100, bytes: 160_000 };
const SMALL_TOKENS = 60_000;
const PIPELINED = 64;
const READERS = 64;
const STRANGERS = 600;
const UPLOADS = 1_000;
const BODY_BYTES = 1024 * 1024;
const FLOOD_MS = 4_000;
/** The maximum cost of a flood: daemon memory in MiB, and the wait of another caller in milliseconds. */
const MAX_COST = {
  pipeline: { mib: 160, ms: 1_500 },
  readers: { mib: 600, ms: 1_500 },
  scan: { mib: 200, ms: 200 },
  // Receiving and dropping the bodies takes time, but must take no memory.
  bodies: { mib: 200, ms: 5_000 },
  // Each connection holds two buffers of 64 KiB, besides the bodies.
  uploads: { mib: 230, ms: 5_000 },
} as const;

type FloodName = keyof typeof MAX_COST;

/**
 * The guard code in the built product, and its replacement without the guard. `readers` has no entry because several
 * guards stop it; unit tests and mutants cover each of them.
 */
const GUARDS: Readonly<Partial<Record<FloodName, readonly [before: string, after: string]>>> = {
  pipeline: ['before===void 0||before.writableFinished', 'true'],
  scan: ['new Promise(resolve=>setImmediate(resolve))),last', '{}),last'],
  bodies: [
    'take(sent,reply=>{',
    '(async(...call)=>{await readBody(request,response,{limit,budget:createByteBudget(Infinity)});take(...call)})(sent,reply=>{',
  ],
  uploads: ['held+bytes>limit', 'false'],
};

/** A served vault and the keys that the floods use. */
interface Flooded {
  readonly vault: ServedVault;
  readonly port: number;
  /** Reads all tokens, enough to fill a page. */
  readonly reader: string;
  /** Reads by a rule that matches part of a container segment. */
  readonly scanner: string;
  readonly bystander: string;
}

interface Cost {
  readonly mib: number;
  readonly ms: number;
}

/** Sends its standard input on several connections and never reads the replies. Exits after a minute. */
const SENDER = `
const { connect } = require('node:net');
const bytes = require('node:fs').readFileSync(0);
const [port, count] = process.argv.slice(1).map(Number);
for (let n = 0; n < count; n += 1) {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(bytes);
}
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

const FLOODS: Readonly<Record<FloodName, (flooded: Flooded) => ChildProcess>> = {
  pipeline: ({ port, reader }) =>
    sendUnread(
      port,
      1,
      requestTexts(() => port, reader)
        .get('/tokens?size=100')
        .repeat(PIPELINED),
    ),
  readers: ({ port, reader }) => sendUnread(port, READERS, requestTexts(() => port, reader).get('/tokens?size=100')),
  scan: ({ port, scanner }) => sendUnread(port, 1, requestTexts(() => port, scanner).get('/tokens')),
  bodies: ({ port }) => sendBodies(port, STRANGERS, ''),
  uploads: ({ port, reader }) => sendBodies(port, UPLOADS, `SVC-API-KEY: ${reader}\r\n`),
};

/** Sends all but the last byte of a body, so that the daemon keeps waiting for it. */
function sendBodies(port: number, count: number, key: string): ChildProcess {
  const { host } = requestTexts(() => port, '');
  const fields = `${host()}${key}Content-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n`;
  const head = Buffer.from(`POST /tokens HTTP/1.1\r\n${fields}\r\n`);
  return sendUnread(port, count, Buffer.concat([head, Buffer.alloc(BODY_BYTES - 1, 'x')]));
}

const NAMES = Object.keys(FLOODS) as FloodName[];

/** Floods for a few seconds. Resolves to the memory growth of the daemon and the longest wait of another caller. */
async function flood(name: FloodName, flooded: Flooded): Promise<Cost> {
  const { vault, bystander } = flooded;
  const pid = vault.pid();
  const before = residentMiB(pid);
  let [mib, ms] = [0, 0];
  const sender = FLOODS[name](flooded);
  try {
    for (const started = performance.now(); performance.now() - started < FLOOD_MS; ) {
      const asked = performance.now();
      const { status } = await vault.remote(bystander, 'getTenant');
      if (status !== 200) throw new CheckFailure(`${name}: a caller beside the flood is answered with ${status}`);
      ms = Math.max(ms, performance.now() - asked);
      mib = Math.max(mib, residentMiB(pid) - before);
      await sleep(10);
    }
    return { mib, ms };
  } finally {
    sender.kill('SIGKILL');
  }
}

async function prepare(vault: ServedVault): Promise<Pick<Flooded, 'reader' | 'scanner' | 'bystander'>> {
  const create = (body: object) => vault.direct(vault.everything, 'createToken', { body });
  await inParallel(SMALL_TOKENS, 64, async () => void (await create({ type: 'token', data: 1, containers: ['/q1/'] })));
  const data = 'x'.repeat(LARGE.bytes);
  await inParallel(LARGE.tokens, 8, async () => void (await create({ type: 'token', data, containers: ['/l/'] })));
  const conditions = [{ attribute: 'container', operator: 'starts_with', value: '/q' }];
  const rule = { description: '', priority: 1, conditions, transform: 'reveal', permissions: ['token:read'] };
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const scanner = { name: 'scanner', type: 'expiring', rules: [rule], expires_at };
  const made = await vault.direct(vault.management, 'createApplication', { body: scanner });
  return { reader: vault.everything, scanner: String(made.body['key']), bystander: vault.management };
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

const isTooMuch = (name: FloodName, { mib, ms }: Cost) => mib > MAX_COST[name].mib || ms > MAX_COST[name].ms;

function figuresOf(costs: Record<FloodName, Cost>): Figures {
  return Object.fromEntries(
    NAMES.flatMap((name) => [
      [`${name}_mib`, Math.round(costs[name].mib)],
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
