import { randomBytes } from 'node:crypto';
import { Client, type ClientConfig, Pool, type QueryArrayConfig } from 'pg';
import { MAX_TOTAL } from '../src/contract/page.ts';
import { START } from '../src/core/audit/audit-link.ts';
import type { AuditDraft } from '../src/core/audit/ports.ts';
import type { Store, TokenIndexes, TokenRecord } from '../src/core/ports.ts';
import type { FoundPage, ScanPosition } from '../src/core/scan-ports.ts';
import { HEAD_ROW } from '../src/store/postgres/audit-head.ts';
import type { QueuedWrite } from '../src/store/postgres/connections.ts';
import { createVaultStore, openVaultStore } from '../src/store/postgres/open-vault-store.ts';
import { prepare } from '../src/store/postgres/queued-writes.ts';
import { inSchema } from '../src/store/postgres/schema.ts';
import type { Statement } from '../src/store/postgres/sql-client.ts';
import { parseStoreUrl } from '../src/store/postgres/store-url.ts';
import { TOKEN_READS } from '../src/store/postgres/token-reads.ts';
import { tokenWrites } from '../src/store/postgres/token-writes.ts';
import type { Row } from '../src/store/rows/store-steps.ts';
import { addTenant, HEADER, MONTH, nextId, tombstoneOf } from '../test/conformance/store-fixtures.ts';
import { sample } from './figures.ts';
import { CONNECTIONS } from './load.ts';
import type { BenchServer } from './postgres-server.ts';
import { inEitherOrder, inRounds } from './rounds.ts';

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

/** A token with its indexes and the entry of its change. */
interface Written {
  readonly token: TokenRecord;
  readonly indexes: TokenIndexes;
  readonly audit: AuditDraft;
}

/** The parts that all measurements of one store use. */
interface Parts {
  readonly server: BenchServer;
  readonly store: Store;
  readonly singles: readonly Pick<Store, 'insertToken'>[];
  readonly pool: Pool;
  readonly tenant: { readonly id: string };
  readonly samples: ReturnType<typeof sampleTokens>;
  readonly now: number;
  readonly seconds: number;
}

/** The processor µs of a call, of this process and of the server. */
type Used = Record<'client' | 'server', number>;

const bytes = (count: number) => new Uint8Array(randomBytes(count));

/** Returns the functions that make records of random bytes, which cost the store what sealed ones do. */
function sampleTokens(tenantId: string, now: number) {
  const container = bytes(16);
  const containers = [container, ...Array.from({ length: CARD.containers - 1 }, () => bytes(16))];
  const draft = (): AuditDraft => ({ at: now, witness: START, sealed: bytes(CARD.entry) });
  const sealed = () => ({ clear: bytes(CARD.clear), presented: bytes(CARD.presented), full: bytes(CARD.full) });
  const indexes = (): TokenIndexes => ({
    fingerprint: bytes(16),
    containers,
    others: Array.from({ length: CARD.others }, () => bytes(16)),
  });
  let made = 0;
  return {
    container,
    draft,
    token(): Written {
      made += 1;
      const record = { created_at: now + made, revision: 1, key_id: 1, index_key_id: 2, active_month: MONTH };
      const token: TokenRecord = { id: nextId(), tenant_id: tenantId, type: 'card', ...record, ...sealed() };
      return { token, indexes: indexes(), audit: draft() };
    },
    patched({ token, indexes: { fingerprint, others } }: Written): Written {
      const record = { ...token, revision: token.revision + 1, ...sealed() };
      const changed = [...others.slice(0, 1), bytes(16)];
      return { token: record, indexes: { fingerprint, containers, others: changed }, audit: draft() };
    },
  };
}

/** Runs `count` calls, several at a time; resolves to the processor µs of this process and of the server for each. */
async function measure(
  server: BenchServer,
  count: number,
  workers: number,
  call: (n: number, worker: number) => Promise<void>,
): Promise<Used> {
  const [clientBefore, serverBefore] = [process.cpuUsage(), server.seconds()];
  let started = 0;
  async function work(worker: number): Promise<void> {
    while (started < count) await call(started++, worker);
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
  const { user, system } = process.cpuUsage(clientBefore);
  return { client: (user + system) / count, server: ((server.seconds() - serverBefore) / count) * 1e6 };
}

/** Connects a writer that commits each change by itself, with the store's statements. */
async function singleWriter(connection: ClientConfig) {
  const client = new Client(connection);
  await client.connect();
  const join = async <T>(write: QueuedWrite<T>): Promise<T> => {
    const statements = prepare([write], { drafts: true }).flatMap(({ bound }) => bound);
    await client.query('BEGIN');
    await client.query(asQuery(HEAD_ROW.lockHead, []));
    const answers: (readonly Row[])[] = [];
    for (const [statement, values] of statements) answers.push((await client.query(asQuery(statement, values))).rows);
    await client.query('COMMIT');
    return write.read(answers, 0).result;
  };
  // The store has added the set of the containers.
  const sets = { ensured: <T>(_tokens: unknown, write: () => Promise<T>) => write() };
  const change = () => Promise.reject(new Error('a create has no reply'));
  return { ...tokenWrites({ join, change }, sets), end: () => client.end() };
}

function asQuery(statement: Statement, values: readonly unknown[]): QueryArrayConfig {
  const { name, text } = typeof statement === 'string' ? { name: undefined, text: statement } : statement;
  return { ...(name !== undefined && { name }), text: inSchema(text, SCHEMA), values: [...values], rowMode: 'array' };
}

async function expectResult<T>(pending: Promise<T>, isExpected: (result: T) => boolean): Promise<void> {
  const result = await pending;
  if (!isExpected(result)) throw new Error(`the store answered ${JSON.stringify(result)}`);
}

/** Returns the item at a position, and starts again after the last. */
function at<T>(items: readonly T[], n: number): T {
  const item = items[n % items.length];
  if (item === undefined) throw new Error('there are no items');
  return item;
}

const insert = (store: Pick<Store, 'insertToken'>, { token, indexes, audit }: Written, now: number) =>
  expectResult(store.insertToken(token, indexes, { deduplicate: false, now }, audit), (r) => r.outcome === 'inserted');

/** Measures the store's calls and the same statements without it, in one round. */
async function measureRound({ server, store, singles, pool, tenant, samples, now, seconds }: Parts, round: number) {
  const countOf = (name: keyof typeof A_SECOND) => Math.ceil(A_SECOND[name] * seconds);
  const make = () => Array.from({ length: countOf('create') }, samples.token);
  const [own, other] = [make(), make()];
  const [create, single] = await inEitherOrder(
    round,
    () => measure(server, own.length, CONNECTIONS, (n) => insert(store, at(own, n), now)),
    () => measure(server, other.length, POOL, (n, worker) => insert(at(singles, worker), at(other, n), now)),
  );
  const ids = sample([...own, ...other], countOf('get')).map(({ token }) => token.id);
  const query = (n: number) => asQuery(TOKEN_READS.findPresentedToken, [tenant.id, at(ids, n)]);
  const [get, pooled] = await inEitherOrder(
    round,
    () =>
      measure(server, countOf('get'), CONNECTIONS, (n) =>
        expectResult(store.findPresentedToken(tenant.id, at(ids, n), now), (found) => found?.id === at(ids, n)),
      ),
    () =>
      measure(server, countOf('get'), CONNECTIONS, (n) =>
        expectResult(pool.query(query(n)), ({ rows }) => rows.length === 1),
      ),
  );
  const patches = own.slice(0, countOf('patch')).map(samples.patched);
  const patch = await measure(server, patches.length, CONNECTIONS, (n) => {
    const { token, indexes, audit } = at(patches, n);
    return expectResult(store.replaceToken(token, indexes, { revision: 1, now }, audit), Boolean);
  });
  const tombstones = patches.map(({ token }) => [tombstoneOf(token), token.revision, samples.draft()] as const);
  const removal = await measure(server, tombstones.length, CONNECTIONS, (n) =>
    expectResult(store.deleteToken(...at(tombstones, n)), Boolean),
  );
  return { create, single, get, pool: pooled, patch, delete: removal };
}

/** Measures the first page, a page from the middle by its cursor, and the total of a filter that most tokens match. */
async function measureLists({ server, store, tenant, samples, now }: Parts, middle: ScanPosition | undefined) {
  const filter = { tenant_id: tenant.id, all: [] };
  const walk = (after: ScanPosition | undefined) =>
    store.walkTokens(filter, { after, limit: WALKED, skip: 0, take: PAGE + 1 }, now);
  const counted = { ...filter, all: [{ index_in: [samples.container] }] };
  let total = 0;
  async function timed(call: () => Promise<Pick<FoundPage, 'records'> & Partial<FoundPage>>) {
    const [started, before] = [performance.now(), server.seconds()];
    const found = await call();
    if (found.records === undefined || found.records.length < PAGE) throw new Error('a list found too few tokens');
    total = found.total ?? total;
    return { ms: performance.now() - started, server: server.seconds() - before };
  }
  const { done, of } = await inRounds(PAGES, async () => ({
    first: await timed(() => walk(undefined)),
    cursor: await timed(() => walk(middle)),
    total: await timed(() => store.findTokens(counted, { offset: 0, limit: PAGE }, now)),
  }));
  const meanOf = (name: 'first' | 'cursor' | 'total') => ({
    ms: of((each) => each[name].ms),
    server: (done.reduce((sum, each) => sum + each[name].server, 0) / PAGES) * 1e6,
  });
  const isCapped = total > MAX_TOTAL;
  return { first: meanOf('first'), cursor: meanOf('cursor'), total: { ...meanOf('total'), isCapped } };
}

/** Creates `count` tokens; returns the position of one in the middle, and the bytes of the log for a create. */
async function fill({ server, store, samples, now }: Parts, count: number) {
  let middle: ScanPosition | undefined;
  const readLog = async () =>
    Number((await server.query<{ at: string }>(`SELECT pg_current_wal_insert_lsn() - '0/0' AS at`))[0]?.at);
  const before = await readLog();
  await measure(server, count, CONNECTIONS, (n) => {
    const made = samples.token();
    if (n === count >> 1) middle = { id: made.token.id, created_at: made.token.created_at };
    return insert(store, made, now);
  });
  return { middle, log: ((await readLog()) - before) / count };
}

/** Adds all rows to the log index, as daemons do: each names the application that made the token, and the token. */
async function indexLog(store: Store): Promise<void> {
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
export async function measureStore(server: BenchServer, options: Record<'rounds' | 'seconds' | 'tokens', number>) {
  const { rounds, seconds, tokens } = options;
  const url = parseStoreUrl(server.url(SCHEMA));
  await createVaultStore(url, HEADER, async () => undefined);
  const { store } = await openVaultStore(url);
  const connection = { host: '127.0.0.1', port: server.port, user: 'postgres' };
  const pool = new Pool({ ...connection, max: POOL });
  const singles = await Promise.all(Array.from({ length: POOL }, () => singleWriter(connection)));
  try {
    const tenant = await addTenant(store);
    const now = Date.now();
    const samples = sampleTokens(tenant.id, now);
    const parts = { server, store, singles, pool, tenant, samples, now, seconds };
    const { middle, log } = await fill(parts, tokens);
    await indexLog(store);
    const sizes = await server.sizes(SCHEMA, tokens);
    await server.query(`VACUUM ANALYZE ${SCHEMA}.token, ${SCHEMA}.token_index`);
    const lists = await measureLists(parts, middle);
    const { of } = await inRounds(rounds, (round) => measureRound(parts, round));
    const usedBy = (name: keyof Awaited<ReturnType<typeof measureRound>>): Used => ({
      client: of((each) => each[name].client),
      server: of((each) => each[name].server),
    });
    return {
      create: usedBy('create'),
      single: usedBy('single'),
      get: usedBy('get'),
      pool: usedBy('pool'),
      patch: usedBy('patch'),
      delete: usedBy('delete'),
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
