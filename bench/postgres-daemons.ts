import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, type ServedVault, serve } from '../scripts/run-vault.ts';
import { delayRelay } from './delay-relay.ts';
import { processorSeconds, sample } from './figures.ts';
import { CONNECTIONS, inTurn, load, type Next, type Statuses } from './load.ts';
import type { BenchServer } from './postgres-server.ts';
import { inEitherOrder, inRounds } from './rounds.ts';
import { type BenchRequests, type BenchVault, benchRequests, DIFFERENT, makeBenchVault, withFolder } from './vault.ts';

const SCHEMA = 'served';

/** Few callers, so that a daemon waits for the delayed database and not for the processor. */
const DELAYED_CONNECTIONS = 4;

/** The seconds of load on a daemon that is stopped in the middle of them, and how long it is stopped. */
const LOADED = 1;
const STOPPED = 3;
const BATCH = 20;

/** A daemon and the requests to it. */
interface Served extends ServedVault {
  readonly request: BenchRequests;
}

type Pair = readonly [Served, Served];

type Requests = (request: BenchRequests) => Next;

interface MeasureOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly requests: Requests;
  readonly expected: Statuses;
}

/** Starts two daemons; `end` stops them. */
async function serveTwo(vault: BenchVault, env: Environment) {
  const start = async (): Promise<Served> => {
    const daemon = await serve([], env);
    return { ...daemon, request: benchRequests(vault.keys, `127.0.0.1:${daemon.port}`) };
  };
  const daemons = await Promise.all([start(), start()]);
  return { daemons, end: () => Promise.all(daemons.map((daemon) => daemon.end())) };
}

/**
 * Sends the same load to each daemon at the same time; resolves to the rate and the processor µs of a request, on all
 * sides and of the server alone.
 */
async function measure(server: BenchServer, daemons: readonly Served[], options: MeasureOptions) {
  const { seconds, connections, requests, expected } = options;
  const used = () => ({
    server: server.seconds(),
    all: daemons.reduce((sum, { pid }) => sum + processorSeconds(pid), server.seconds()),
  });
  const before = used();
  const done = await Promise.all(
    daemons.map(({ port, request }) => load({ port, connections, seconds, expected, next: requests(request) })),
  );
  const count = done.reduce((sum, each) => sum + each.count, 0);
  const rate = done.reduce((sum, each) => sum + each.count / each.seconds, 0);
  const after = used();
  const micros = (member: 'server' | 'all') => ((after[member] - before[member]) / count) * 1e6;
  return { rate, server: micros('server'), processor: micros('all') };
}

/** Compares two daemons with one of them, in rounds with alternating order. */
async function compare(server: BenchServer, daemons: Pair, options: MeasureOptions & { readonly rounds: number }) {
  const { of } = await inRounds(options.rounds, (round) =>
    inEitherOrder(
      round,
      () => measure(server, daemons.slice(...(round % 2 === 0 ? [0, 1] : [1])), options),
      () => measure(server, daemons, options),
    ),
  );
  return {
    processorRatio: of(([one, two]) => two.processor / one.processor),
    rateRatio: of(([one, two]) => two.rate / one.rate),
    one: { processor: of(([one]) => one.processor), rate: of(([one]) => one.rate) },
    two: {
      processor: of(([, two]) => two.processor),
      server: of(([, two]) => two.server),
      rate: of(([, two]) => two.rate),
    },
  };
}

interface StopOptions extends Omit<MeasureOptions, 'seconds' | 'expected'> {
  readonly rounds: number;
  readonly batches: Requests;
}

/**
 * Stops a daemon amid its creates and batches in each round, while another one creates tokens. Resolves to the longest
 * time of a create of the other in each round, in milliseconds.
 */
async function measureStops(daemons: Pair, options: StopOptions): Promise<readonly number[]> {
  const { rounds, connections, requests, batches } = options;
  const pauses: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [first, second] = daemons;
    const [stopped, other] = round % 2 === 0 ? [first, second] : [second, first];
    const send = ({ port, request }: Served, next: Requests, seconds: number) =>
      load({ port, connections, seconds, expected: 201, next: next(request) });
    const [, { times }] = await Promise.all([
      send(stopped, batches, LOADED),
      send(other, requests, LOADED + STOPPED),
      stop(stopped),
    ]);
    pauses.push(Math.max(...times));
  }
  return pauses;
}

async function stop({ pid }: Served): Promise<void> {
  await sleep((LOADED * 1000) / 2);
  process.kill(pid, 'SIGSTOP');
  await sleep(STOPPED * 1000);
  process.kill(pid, 'SIGCONT');
}

/**
 * Compares two daemons on one database with one of them, each under the same load: creates, gets, and creates with a
 * millisecond of delay between daemons and database in each direction. Then stops one of them.
 */
export function measureDaemons(server: BenchServer, { rounds, seconds }: Record<'rounds' | 'seconds', number>) {
  return withFolder(async (folder, bare) => {
    const vault = await makeBenchVault(folder, bare, server.url(SCHEMA));
    let made = 0;
    const creates = { expected: 201, requests: (request: BenchRequests) => () => request.create(made++) };
    const near = await serveTwo(vault, vault.env);
    const beside = async () => {
      const sizes = { rounds, seconds, connections: CONNECTIONS };
      const create = await compare(server, near.daemons, { ...sizes, ...creates });
      const rows = await server.query<{ id: string }>(`SELECT id FROM ${SCHEMA}.token`);
      const ids = sample(rows, DIFFERENT).map(({ id }) => id);
      const requests = (request: BenchRequests) => inTurn(ids.map((id) => request.get('mask', id)));
      const get = await compare(server, near.daemons, { ...sizes, expected: 200, requests });
      const batches = (request: BenchRequests) => inTurn([request.create(0), request.tokenize(0, BATCH)]);
      return { create, get, pauses: await measureStops(near.daemons, { ...sizes, ...creates, batches }) };
    };
    const figures = await beside().finally(near.end);
    const relay = await delayRelay(server.port);
    const far = await serveTwo(vault, { ...vault.env, VAULT_STORE: server.url(SCHEMA, relay.port) });
    try {
      const sizes = { rounds, seconds, connections: DELAYED_CONNECTIONS };
      return { ...figures, delayed: await compare(server, far.daemons, { ...sizes, ...creates }) };
    } finally {
      await far.end();
      relay.stop();
    }
  });
}
