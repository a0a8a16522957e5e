/**
 * The main job with real input: posts mixed tokens through HTTP, reads them all back as a masking and as a revealing
 * application, through HTTP and through the file while the daemon runs, looks for what was posted in the file's bytes, and
 * kills the daemon while it is being written to. Exits 1 when anything is not as it went in.
 *
 *   node scripts/thousand-tokens.js [--count 1000] [--seed 1]
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { Pool } from 'undici';
import { makeToken, seededRandom } from './mixed-tokens.js';
import { parseFlags } from './parse-flags.js';

const { values: flags } = parseFlags('thousand-tokens', 'node scripts/thousand-tokens.js [--count N] [--seed N]', {
  options: { count: { type: 'string', default: '1000' }, seed: { type: 'string', default: '1' } },
});
const COUNT = Number(flags.count);
const VAULT = fileURLToPath(new URL('../bin/vault.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'vault-thousand-'));
const file = join(folder, 'vault.db');
const readyFile = join(folder, 'ready.json');
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')));
const execute = promisify(execFile);
let failures = 0;
let running;

async function vault(args, env = {}) {
  const { stdout } = await execute(process.execPath, [VAULT, ...args], {
    env: { ...environment, ...env },
    maxBuffer: 256 * 1024 * 1024,
  });
  return stdout;
}

async function serve() {
  rmSync(readyFile, { force: true });
  const args = [VAULT, 'serve', '--file', file, '--port', '0', '--ready-file', readyFile, '--no-log'];
  const daemon = spawn(process.execPath, args, { env: environment, stdio: 'ignore' });
  running = daemon;
  while (!existsSync(readyFile)) {
    if (daemon.exitCode !== null) throw new Error('the daemon did not start');
    await sleep(20);
  }
  const { url } = JSON.parse(readFileSync(readyFile, 'utf8'));
  return { daemon, url, pool: new Pool(url, { connections: 16 }) };
}

async function request(pool, key, method, path, body) {
  const { statusCode, body: stream } = await pool.request({
    method,
    path,
    headers: { 'svc-api-key': key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await stream.text();
  if (statusCode >= 300) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Runs `work` over all items, 16 at a time. */
async function inParallel(items, work, most = 16) {
  const queue = items.entries();
  const results = [];
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: most }, worker));
  return results;
}

function report(what, wrong, of) {
  if (wrong > 0) failures++;
  console.log(`${wrong === 0 ? 'ok ' : 'NOT'}  ${what.padEnd(62)} ${of - wrong} of ${of}`);
}

function compare(what, tokens, posted, wanted) {
  const wrong = posted.filter(({ id }, index) => {
    const token = tokens.get(id);
    return (
      !token ||
      !isDeepStrictEqual(token.data, wanted(posted[index])) ||
      !isDeepStrictEqual(token.metadata, posted[index].metadata)
    );
  });
  report(what, wrong.length, posted.length);
}

async function listAll(readPage) {
  const tokens = new Map();
  for (let page = 1; ; page++) {
    const { data, pagination } = await readPage(page);
    for (const token of data) tokens.set(token.id, token);
    if (page >= pagination.total_pages) return tokens;
  }
}

/** How many of the texts stand in the vault's files as they are. */
async function found(texts) {
  const names = ['', '-wal', '-shm'].map((end) => file + end).filter((name) => existsSync(name));
  const bytes = Buffer.concat(names.map((name) => readFileSync(name)));
  return texts.filter((text) => bytes.includes(Buffer.from(text))).length;
}

try {
  const made = JSON.parse(await vault(['init', '--file', file, '--key-file', `${file}.key`, '--output', 'json']));
  const management = made.application.key;
  let { daemon, url, pool } = await serve();
  const rule = { description: 'all', priority: 1, container: '/', transform: 'reveal', permissions: ['token:read'] };
  const createApplication = (body) => request(pool, management, 'POST', '/applications', body);
  const permissions = ['token:create', 'token:read'];
  const masking = await createApplication({ name: 'Masking-Canary-App', type: 'private', permissions });
  const revealing = await createApplication({
    name: 'Revealing-Canary-App',
    type: 'private',
    permissions: ['token:create'],
    rules: [rule],
  });

  const random = seededRandom(Number(flags.seed));
  const inputs = Array.from({ length: COUNT }, (_, index) => makeToken(random, index));
  const started = performance.now();
  const posted = await inParallel(inputs, async (input) => {
    const { id } = await request(pool, masking.key, 'POST', '/tokens', input.body);
    return { id, ...input };
  });
  const seconds = (performance.now() - started) / 1000;
  console.log(`${COUNT} tokens posted in ${seconds.toFixed(2)} s (${Math.round(COUNT / seconds)} a second)`);

  const doors = { masking: (token) => token.masked, revealing: (token) => token.body.data };
  for (const [name, wanted] of Object.entries(doors)) {
    const { key } = name === 'masking' ? masking : revealing;
    const listed = await listAll((page) => request(pool, key, 'GET', `/tokens?size=100&page=${page}`));
    compare(`HTTP  ${name} application lists them`, listed, posted, wanted);
    const got = new Map();
    await inParallel(posted, async ({ id }) => got.set(id, await request(pool, key, 'GET', `/tokens/${id}`)));
    compare(`HTTP  ${name} application gets each`, got, posted, wanted);
    const env = { VAULT_FILE: file, VAULT_API_KEY: key };
    const throughFile = await listAll(async (page) =>
      JSON.parse(await vault(['tokens', 'list', '--size', '100', '--page', String(page)], env)),
    );
    compare(`file  ${name} application lists them while the daemon runs`, throughFile, posted, wanted);
    const gotThroughFile = new Map();
    await inParallel(
      posted,
      async ({ id }) => gotThroughFile.set(id, JSON.parse(await vault(['tokens', 'get', id], env))),
      4,
    );
    compare(`file  ${name} application gets each while the daemon runs`, gotThroughFile, posted, wanted);
  }

  const secrets = posted.flatMap(({ canaries }) => canaries);
  const names = [
    'Masking-Canary-App',
    'Revealing-Canary-App',
    '/pci/high/',
    '/bank/high/',
    '/canary/shelf/',
    'default',
  ];
  report('file, WAL and shm hold none of the values', await found(secrets), secrets.length);
  report('file, WAL and shm hold none of the names', await found(names), names.length);
  report('control: what is not sealed is found', (await found([posted[0].id])) === 1 ? 0 : 1, 1);

  const acknowledged = [];
  const killing = inParallel(
    Array.from({ length: COUNT }, (_, index) => makeToken(random, index)),
    async (input) => {
      try {
        const { id } = await request(pool, masking.key, 'POST', '/tokens', input.body);
        acknowledged.push({ id, ...input });
      } catch {
        // The daemon is dead: this one was not acknowledged.
      }
    },
  );
  while (acknowledged.length < COUNT / 5) await sleep(1);
  daemon.kill('SIGKILL');
  await once(daemon, 'exit');
  await killing;
  await pool.destroy();
  ({ daemon, url, pool } = await serve());
  const survived = new Map();
  await inParallel(acknowledged, async ({ id }) =>
    survived.set(id, await request(pool, revealing.key, 'GET', `/tokens/${id}`).catch(() => undefined)),
  );
  compare('SIGKILL during the posting: acknowledged tokens are there', survived, acknowledged, doors.revealing);
  await pool.close();
  daemon.kill('SIGTERM');
  const [code] = await once(daemon, 'exit');
  report(`the daemon at ${new URL(url).hostname} stops with exit code 0`, code === 0 ? 0 : 1, 1);
} finally {
  running?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;
