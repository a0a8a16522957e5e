import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { bareServer, serve } from './bench-daemon.js';
import { load, once, percentile, requestBytes } from './bench-load.js';
import { rawInsertRate } from './bench-raw-sqlite.js';
import { BIN, bareEnvironment, run } from './run-vault.js';

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };
const round = (value, digits = 2) => Number(value.toFixed(digits));

function median(values) {
  return percentile(values, 0.5);
}

/** A vault with three applications, each named after what it is shown. */
async function makeVault(folder, bare) {
  const file = path.join(folder, 'vault.db');
  const vault = async (args, env) => JSON.parse(await run([BIN, ...args, '--output', 'json'], env));
  const { application } = await vault(['init', '--file', file], bare);
  const direct = { ...bare, VAULT_FILE: file, VAULT_API_KEY: application.key };
  const make = (name, rule) => vault(['apps', 'create', '--name', name, '--type', 'private', '--rule', rule], direct);
  const all = 'permissions=token:read,token:create,token:update,token:delete';
  const reveal = await make('reveal', `container=/ transform=reveal ${all}`);
  const mask = await make('mask', 'container=/ transform=mask permissions=token:read');
  const deny = await make('deny', 'container=/elsewhere/ transform=mask permissions=token:read');
  return { file, direct, keys: { reveal: reveal.key, mask: mask.key, deny: deny.key, wrong: `key_${'2'.repeat(32)}` } };
}

/** `host` is the daemon's: it answers for its own name only. */
function requests(keys, host) {
  const request = (who, parts) => ({ ...parts, headers: { 'svc-api-key': keys[who], ...parts.headers } });
  const json = { 'content-type': 'application/json' };
  const patch = { 'content-type': 'application/merge-patch+json' };
  return {
    get: (who, id) => requestBytes(request(who, { method: 'GET', path: `/tokens/${id}` }), host),
    list: (who, query) => requestBytes(request(who, { method: 'GET', path: `/tokens?${query}` }), host),
    create: (n) => {
      const metadata = { customer: `customer-${Math.floor(n / 20)}`, order: `order-${n}` };
      const body = JSON.stringify({ type: 'card', data: CARD, metadata });
      return requestBytes(request('reveal', { method: 'POST', path: '/tokens', headers: json, body }), host);
    },
    patch: (id, n) => {
      const body = JSON.stringify({ metadata: { order: `order-${n}-patched` } });
      return requestBytes(request('reveal', { method: 'PATCH', path: `/tokens/${id}`, headers: patch, body }), host);
    },
    delete: (id) => requestBytes(request('reveal', { method: 'DELETE', path: `/tokens/${id}` }), host),
  };
}

/** Request and response of the vault against the same bytes from a bare server, taking turns. */
async function againstBare({ port, bare, rounds, seconds, expected, next, onResponse }) {
  const asked = next();
  const sample = await once(port, asked);
  await bare.answerLike(sample);
  const onBare = { port: bare.port, seconds, next: () => asked, expected: sample.status };
  await load({ ...onBare, seconds: seconds / 4 });
  await load({ port, seconds: seconds / 4, next, expected, onResponse });
  const ratios = [];
  const rates = [];
  const times = [];
  for (let turn = 0; turn < rounds; turn++) {
    const base = await load(onBare);
    const own = await load({ port, seconds, next, expected, onResponse });
    ratios.push(own.count / own.seconds / (base.count / base.seconds));
    rates.push(own.count / own.seconds);
    times.push(...own.times);
  }
  const p50 = percentile(times, 0.5);
  const p99 = percentile(times, 0.99);
  return {
    ratio: round(median(ratios)),
    per_second: Math.round(median(rates)),
    p50_ms: round(p50),
    p99_ms: round(p99),
    p99_to_p50: round(p99 / p50, 1),
  };
}

/**
 * The daemon's operations under 32 keep-alive connections, as ratios to a bare `node:http` server that reads the same
 * request bytes and answers the same response bytes, and, for create, to the same rows put straight into SQLite.
 */
export async function http({ rounds, seconds, tokens, ownEnvironment }) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'vault-bench-'));
  const environment = bareEnvironment(folder, { own: ownEnvironment });
  const bare = await bareServer();
  const rows = [];
  let daemon;
  try {
    const { file, keys } = await makeVault(folder, environment);
    let request;
    const ids = [];
    const keepId = ({ body }) => ids.push(JSON.parse(body.toString()).id);
    const env = { ...environment, VAULT_FILE: file };
    const restart = async (...args) => {
      await daemon?.stop();
      daemon = await serve(args, env);
      request = requests(keys, `127.0.0.1:${daemon.port}`);
    };
    await restart();

    async function measure(name, target, parts) {
      const figures = await againstBare({ port: daemon.port, bare, rounds, seconds, ...parts });
      rows.push({ case: name, target, ...figures, reached: figures.ratio >= target });
    }
    const some = () => ids[Math.floor(Math.random() * ids.length)];

    let made = 0;
    const create = () => request.create(made++);
    await measure('create card', 0.25, { expected: 201, next: create, onResponse: keepId });
    const created = rows[0].per_second;
    await load({
      port: daemon.port,
      expected: 201,
      next: () => (made < tokens ? create() : undefined),
      onResponse: keepId,
    });
    await measure('get, masked', 0.55, { expected: 200, next: () => request.get('mask', some()) });
    await measure('get, revealed', 0.45, { expected: 200, next: () => request.get('reveal', some()) });
    await measure('list, 20 revealed', 0.12, { expected: 200, next: () => request.list('reveal', 'size=20') });
    const customers = Math.floor(made / 20);
    const oneCustomer = () => `metadata.customer=customer-${Math.floor(Math.random() * customers)}`;
    await measure(`list by metadata in ${made}`, 0.12, {
      expected: 200,
      next: () => request.list('reveal', oneCustomer()),
    });
    await measure('403', 0.6, { expected: 403, next: () => request.get('deny', some()) });
    await measure('404', 0.6, { expected: 404, next: () => request.get('reveal', 'there-is-no-such-token') });
    let patched = 0;
    await measure('patch', 0.2, { expected: 200, next: () => request.patch(some(), patched++) });
    const ofLast = () => (ids.length > 1 ? request.delete(ids.pop()) : undefined);
    await measure('delete', 0.2, { expected: 204, next: ofLast });
    await restart('--audit', 'mutations');
    await measure('get, revealed (--audit mutations)', 0.55, {
      expected: 200,
      next: () => request.get('reveal', some()),
    });
    await daemon.stop();
    daemon = undefined;
    const raw = rawInsertRate(file, path.join(folder, 'raw.db'));
    const ratio = round(created / raw);
    rows.splice(1, 0, {
      case: 'create card (to raw SQLite)',
      target: 0.45,
      ratio,
      per_second: created,
      reached: ratio >= 0.45,
    });
    const title = `HTTP, 32 connections, ${rounds} rounds of ${seconds} s, ${made} tokens; synchronous=FULL, --audit reveal; Node ${process.versions.node}`;
    return { title, rows };
  } finally {
    await daemon?.stop();
    bare.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
