import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '../scripts/run-vault.js';
import { delayRelay } from './delay-relay.js';
import { median, processorSeconds, sample } from './figures.js';
import { CONNECTIONS, inTurn, load } from './load.js';
import { benchRequests, DIFFERENT, makeBenchVault, withFolder } from './vault.js';

const SCHEMA = 'served';

/** Few callers, so that a daemon waits for the delayed database and not for the processor. */
const DELAYED_CONNECTIONS = 4;

/** The seconds of load on a daemon that is stopped in the middle of them, and how long it is stopped. */
const LOADED = 1;
const STOPPED = 3;
const BATCH = 20;

/** Starts two daemons; `end` stops them. */
async function serveTwo(vault, env) {
  const daemons = await Promise.all([serve([], env), serve([], env)]);
  return {
    daemons: daemons.map((daemon) => ({ ...daemon, request: benchRequests(vault.keys, `127.0.0.1:${daemon.port}`) })),
    end: () => Promise.all(daemons.map((daemon) => daemon.end())),
  };
}

/**
 * Sends the same load to each daemon at the same time; resolves to the rate and the processor µs of a request, on all
 * sides and of the server alone.
 */
async function measure(server, daemons, { seconds, connections, requests, expected }) {
  const used = () => [server.seconds(), ...daemons.map(({ pid }) => processorSeconds(pid))];
  const before = used();
  const done = await Promise.all(
    daemons.map(({ port, request }) => load({ port, connections, seconds, expected, next: requests(request) })),
  );
  const count = done.reduce((sum, each) => sum + each.count, 0);
  const rate = done.reduce((sum, each) => sum + each.count / each.seconds, 0);
  const [ofServer, ...ofDaemons] = used().map((seconds, at) => ((seconds - before[at]) / count) * 1e6);
  return { rate, server: ofServer, processor: ofDaemons.reduce((sum, each) => sum + each, ofServer) };
}

/** Compares two daemons with one of them, in rounds with alternating order. */
async function compare(server, daemons, { rounds, ...options }) {
  const done = [];
  for (let round = -1; round < rounds; round += 1) {
    const figures = {};
    for (const name of round % 2 === 0 ? ['one', 'two'] : ['two', 'one']) {
      const which = name === 'two' ? daemons : [daemons.at(round % 2)];
      figures[name] = await measure(server, which, options);
    }
    if (round >= 0) done.push(figures);
  }
  const of = (figure) => median(done.map(figure));
  return {
    processorRatio: of(({ one, two }) => two.processor / one.processor),
    rateRatio: of(({ one, two }) => two.rate / one.rate),
    one: { processor: of(({ one }) => one.processor), rate: of(({ one }) => one.rate) },
    two: {
      processor: of(({ two }) => two.processor),
      server: of(({ two }) => two.server),
      rate: of(({ two }) => two.rate),
    },
  };
}

/**
 * Stops a daemon amid its creates and batches in each round, while another one creates tokens. Resolves to the longest
 * time of a create of the other in each round, in milliseconds.
 */
async function measureStops(daemons, { rounds, connections, requests, batches }) {
  const pauses = [];
  for (let round = 0; round < rounds; round += 1) {
    const [stopped, other] = round % 2 === 0 ? daemons : daemons.toReversed();
    const send = ({ port, request }, next, seconds) =>
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

async function stop({ pid }) {
  await sleep((LOADED * 1000) / 2);
  process.kill(pid, 'SIGSTOP');
  await sleep(STOPPED * 1000);
  process.kill(pid, 'SIGCONT');
}

/**
 * Compares two daemons on one database with one of them, each under the same load: creates, gets, and creates with a
 * millisecond of delay between daemons and database in each direction. Then stops one of them.
 */
export function measureDaemons(server, { rounds, seconds }) {
  return withFolder(async (folder, bare) => {
    const vault = await makeBenchVault(folder, bare, server.url(SCHEMA));
    let made = 0;
    const creates = { expected: 201, requests: (request) => () => request.create(made++) };
    const near = await serveTwo(vault, vault.env);
    const figures = {};
    try {
      const sizes = { rounds, seconds, connections: CONNECTIONS };
      figures.create = await compare(server, near.daemons, { ...sizes, ...creates });
      const rows = await server.query(`SELECT id FROM ${SCHEMA}.token`);
      const ids = sample(rows, DIFFERENT).map(({ id }) => id);
      const requests = (request) => inTurn(ids.map((id) => request.get('mask', id)));
      figures.get = await compare(server, near.daemons, { ...sizes, expected: 200, requests });
      const batches = (request) => inTurn([request.create(0), request.tokenize(0, BATCH)]);
      figures.pauses = await measureStops(near.daemons, { ...sizes, ...creates, batches });
    } finally {
      await near.end();
    }
    const relay = await delayRelay(server.port);
    const far = await serveTwo(vault, { ...vault.env, VAULT_STORE: server.url(SCHEMA, relay.port) });
    try {
      const sizes = { rounds, seconds, connections: DELAYED_CONNECTIONS };
      figures.delayed = await compare(server, far.daemons, { ...sizes, ...creates });
    } finally {
      await far.end();
      relay.stop();
    }
    return figures;
  });
}
