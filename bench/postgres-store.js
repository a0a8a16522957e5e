import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { MAX_TOTAL } from '../src/contract/page.ts';
import { START } from '../src/core/audit/audit-link.ts';
import { HEAD_ROW } from '../src/store/postgres/audit-head.ts';
import { prepare } from '../src/store/postgres/lane-members.ts';
import { createVaultStore, openVaultStore } from '../src/store/postgres/open-vault-store.ts';
import { inSchema } from '../src/store/postgres/schema.ts';
import { parseStoreUrl } from '../src/store/postgres/store-url.ts';
import { TOKEN_READS } from '../src/store/postgres/token-reads.ts';
import { tokenWrites } from '../src/store/postgres/token-writes.ts';
import { addTenant, HEADER, MONTH, nextId, tombstoneOf } from '../test/conformance/store-fixtures.ts';
import { median, sample } from './figures.js';
import { CONNECTIONS } from './load.js';

const SCHEMA = 'alone';

/** The sealed bytes of a card of the benchmark, and the number of its blind indexes. */
const CARD = { clear: 70, presented: 237, full: 301, entry: 237, containers: 3, others: 2 };

/** The connections of the baseline: a pool, or writers of one statement a commit. */
const POOL = 8;

/** The number of creates, gets, and patches in a second of a round. Patched tokens are deleted afterwards. */
const A_SECOND = { create: 2000, get: 8000, patch: 1000 };

const PAGE = 20;
/** The tokens that a cursor page examines first (src/core/tokens/find-page.ts). */
const WALKED = 100;
const PAGES = 40;

/** The rows that one write adds to the log index (src/core/audit/log-index.ts). */
const INDEXED = 20;

const bytes = (count) => new Uint8Array(randomBytes(count));

/** Returns the functions that make records of random bytes, which cost the store what sealed ones do. */
function makerFor(tenantId, now) {
  const container = bytes(16);
  const containers = [container, ...Array.from({ length: CARD.containers - 1 }, () => bytes(16))];
  const draft = () => ({
    at: now,
    witness: START,
    sealed: bytes(CARD.entry),
    subjects: [{ n: 1, blind: bytes(16) }],
  });
  const sealed = () => ({ clear: bytes(CARD.clear), presented: bytes(CARD.presented), full: bytes(CARD.full) });
  const indexes = () => ({
    fingerprint: bytes(16),
    containers,
    others: Array.from({ length: CARD.others }, () => bytes(16)),
  });
  let made = 0;
  return {
    container,
    draft,
    token() {
      made += 1;
      const record = { created_at: now + made, revision: 1, key_id: 1, index_key_id: 2, active_month: MONTH };
      const token = { id: nextId(), tenant_id: tenantId, type: 'card', ...record, ...sealed() };
      return { token, indexes: indexes(), audit: draft(), deduplicate: false };
    },
    patched({ token, indexes: { fingerprint, others } }) {
      const record = { ...token, revision: token.revision + 1, ...sealed() };
      return { token: record, indexes: { fingerprint, containers, others: [others[0], bytes(16)] }, audit: draft() };
    },
  };
}

/** Runs `count` calls, several at a time; resolves to the processor µs of this process and of the server for each. */
async function measure(server, count, workers, call) {
  const [clientBefore, serverBefore] = [process.cpuUsage(), server.seconds()];
  let started = 0;
  async function work(worker) {
    while (started < count) await call(started++, worker);
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  const { user, system } = process.cpuUsage(clientBefore);
  return { client: (user + system) / count, server: ((server.seconds() - serverBefore) / count) * 1e6 };
}

/** Connects a writer that commits each change by itself, with the store's statements. */
async function singleWriter(connection) {
  const client = new Client(connection);
  await client.connect();
  const join = async (member) => {
    const [{ bound }] = prepare([member], { drafts: true });
    await client.query('BEGIN');
    await client.query(asQuery(HEAD_ROW.lockHead, []));
    const answers = [];
    for (const [statement, values] of bound) answers.push((await client.query(asQuery(statement, values))).rows);
    await client.query('COMMIT');
    return member.read(answers, 0).result;
  };
  // The store has added the set of the containers.
  const sets = { ensured: (_tokens, write) => write() };
  return { ...tokenWrites({ join }, sets), end: () => client.end() };
}

const asQuery = ({ name, text }, values) => ({ name, text: inSchema(text, SCHEMA), values, rowMode: 'array' });

async function expectResult(pending, isExpected) {
  const result = await pending;
  if (!isExpected(result)) throw new Error(`the store answered ${JSON.stringify(result)}`);
}

const insert = (store, { token, indexes, audit }, now) =>
  expectResult(store.insertToken(token, indexes, { deduplicate: false, now }, audit), (r) => r.outcome === 'inserted');

/** Measures the store's calls and the same statements without it, in turn, in one round. */
async function measureRound({ server, store, singles, pool, tenant, maker, now, seconds }, isEven) {
  const countOf = (name) => Math.ceil(A_SECOND[name] * seconds);
  const make = () => Array.from({ length: countOf('create') }, maker.token);
  const [own, other] = [make(), make()];
  const creates = {
    create: () => measure(server, own.length, CONNECTIONS, (n) => insert(store, own[n], now)),
    single: () => measure(server, other.length, POOL, (n, worker) => insert(singles[worker], other[n], now)),
  };
  const ids = sample([...own, ...other], countOf('get')).map(({ token }) => token.id);
  const id = (n) => ids[n % ids.length];
  const query = (n) => asQuery(TOKEN_READS.findPresentedToken, [tenant.id, id(n)]);
  const gets = {
    get: () =>
      measure(server, countOf('get'), CONNECTIONS, (n) =>
        expectResult(store.findPresentedToken(tenant.id, id(n), now), (found) => found?.id === id(n)),
      ),
    pool: () =>
      measure(server, countOf('get'), CONNECTIONS, (n) =>
        expectResult(pool.query(query(n)), ({ rows }) => rows.length === 1),
      ),
  };
  const figures = {};
  for (const pair of [creates, gets]) {
    for (const [name, run] of isEven ? Object.entries(pair) : Object.entries(pair).reverse()) {
      figures[name] = await run();
    }
  }
  const patches = own.slice(0, countOf('patch')).map(maker.patched);
  figures.patch = await measure(server, patches.length, CONNECTIONS, (n) => {
    const { token, indexes, audit } = patches[n];
    return expectResult(store.replaceToken(token, indexes, { revision: 1, now }, audit), Boolean);
  });
  const tombstones = patches.map(({ token }) => [tombstoneOf(token), token.revision, maker.draft()]);
  figures.delete = await measure(server, tombstones.length, CONNECTIONS, (n) =>
    expectResult(store.deleteToken(...tombstones[n]), Boolean),
  );
  return figures;
}

/** Measures the first page, a page from the middle by its cursor, and the total of a filter that most tokens match. */
async function measureLists({ server, store, tenant, maker, now }, middle) {
  const filter = { tenant_id: tenant.id, all: [] };
  const walk = (after) => store.walkTokens(filter, { after, limit: WALKED, skip: 0, take: PAGE + 1 }, now);
  const counted = { ...filter, all: [{ index_in: [maker.container] }] };
  const calls = {
    first: () => walk(undefined),
    cursor: () => walk(middle),
    total: () => store.findTokens(counted, { offset: 0, limit: PAGE }, now),
  };
  const times = { first: [], cursor: [], total: [] };
  const used = { first: 0, cursor: 0, total: 0 };
  let total = 0;
  for (let page = -1; page < PAGES; page += 1) {
    for (const [name, call] of Object.entries(calls)) {
      const [started, before] = [performance.now(), server.seconds()];
      const found = await call();
      if (found.records.length < PAGE) throw new Error(`${name} found ${found.records.length} tokens`);
      total = found.total ?? total;
      if (page < 0) continue; // The first calls prepare the statements.
      times[name].push(performance.now() - started);
      used[name] += server.seconds() - before;
    }
  }
  const of = (name) => ({ ms: median(times[name]), server: (used[name] / PAGES) * 1e6 });
  return { first: of('first'), cursor: of('cursor'), total: { ...of('total'), isCapped: total > MAX_TOTAL } };
}

/** Creates `count` tokens; returns the position of one in the middle, and the bytes of the log for a create. */
async function fill({ server, store, maker, now }, count) {
  let middle;
  const readLog = async () => Number((await server.query(`SELECT pg_current_wal_insert_lsn() - '0/0' AS at`))[0].at);
  const before = await readLog();
  await measure(server, count, CONNECTIONS, (n) => {
    const made = maker.token();
    if (n === count >> 1) middle = { id: made.token.id, created_at: made.token.created_at };
    return insert(store, made, now);
  });
  return { middle, log: ((await readLog()) - before) / count };
}

/** Adds all rows to the log index, as daemons do: each names the application that made the token, and the token. */
async function indexLog(store) {
  const caller = bytes(16);
  const { sequence: end } = await store.auditHead();
  for (let from = await store.logIndexEnd(); from < end; ) {
    const last = Math.min(from + INDEXED, end);
    const sequences = Array.from({ length: last - from }, (_, n) => from + 1 + n);
    await store.indexLog(
      sequences.map((sequence) => ({ sequence, blinds: [caller, bytes(16)] })),
      from,
      last,
    );
    from = last;
  }
}

/**
 * Measures the PostgreSQL store without a daemon, on a table with `tokens` tokens. Resolves to the processor time of
 * each call as medians of the rounds, in µs of this process (`client`) and of the server; `single` and `pool` are the
 * same statements without the store. `toSingle` and `toPool` are the medians of the ratios of the server's time. `log`
 * and `sizes` are bytes for a created token.
 */
export async function measureStore(server, { rounds, seconds, tokens }) {
  const url = parseStoreUrl(server.url(SCHEMA));
  await createVaultStore(url, HEADER, async () => undefined);
  const { store } = await openVaultStore(url);
  const connection = { host: '127.0.0.1', port: server.port, user: 'postgres' };
  const pool = new Pool({ ...connection, max: POOL });
  const singles = await Promise.all(Array.from({ length: POOL }, () => singleWriter(connection)));
  try {
    const tenant = await addTenant(store);
    const now = Date.now();
    const maker = makerFor(tenant.id, now);
    const parts = { server, store, singles, pool, tenant, maker, now, seconds };
    const { middle, log } = await fill(parts, tokens);
    await indexLog(store);
    const sizes = await server.sizes(SCHEMA, tokens);
    await server.query(`VACUUM ANALYZE ${SCHEMA}.token, ${SCHEMA}.token_index`);
    const lists = await measureLists(parts, middle);
    const done = [];
    for (let round = -1; round < rounds; round += 1) {
      const figures = await measureRound(parts, round % 2 === 0);
      if (round >= 0) done.push(figures);
    }
    const of = (figure) => median(done.map(figure));
    const calls = Object.keys(done[0]).map((name) => [
      name,
      { client: of((each) => each[name].client), server: of((each) => each[name].server) },
    ]);
    return {
      ...Object.fromEntries(calls),
      toSingle: of(({ create, single }) => create.server / single.server),
      toPool: of(({ get, pool: other }) => get.server / other.server),
      lists,
      log,
      sizes,
    };
  } finally {
    await Promise.all([store.close(), pool.end(), ...singles.map((writer) => writer.end())]);
  }
}
