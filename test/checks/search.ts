import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import { createKeyring } from '../../src/keyring/create-keyring.ts';
import { composeVault } from '../../src/vault/vault.ts';
import { createStore } from '../create-store.ts';
import { type SteppingClock, seededRandom, steppingClock } from '../fixed-world.ts';
import { matchesQuery, type SearchedToken } from '../search-model.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { makeMemoryFolder } from './memory-folder.ts';
import { createDraw, type Draw } from './model-fuzz-bodies.ts';
import { createCaller, type Perform } from './perform.ts';
import { METADATA_KEYS, randomQuery, TEXTS } from './random-query.ts';

const FULL = 20_000;
const QUICK = 1_500;
const TOKENS = 200;
/** The number of queries for each vault. A change precedes every twentieth query. */
const QUERIES_A_VAULT = 2_500;
const CHANGES_EVERY = 20;
const SIZES = [5, 20, 100];

interface Run {
  readonly seed: number;
  readonly queries: number;
  /** Lets everybody read every token in the model, for the control. */
  readonly ignoresRules?: boolean;
}

interface Searcher {
  readonly id: string;
  readonly key: string;
  reads(token: SearchedToken): boolean;
}

/** A vault, and the tokens that the model expects in it. */
interface Place {
  readonly draw: Draw;
  readonly clock: SteppingClock;
  readonly perform: Perform;
  readonly searchers: readonly Searcher[];
  readonly tokens: Map<string, SearchedToken>;
}

/** Asks vaults random queries. Compares the ids, the order and the number of tokens with the model. */
async function compare({ seed, queries, ignoresRules = false }: Run) {
  const figures = { queries: 0, found: 0, empty: 0, changes: 0, differences: 0 };
  let first = '';
  for (let asked = 0; asked < queries; asked += QUERIES_A_VAULT) {
    const left = Math.min(QUERIES_A_VAULT, queries - asked);
    await withPlace(seed * 1_000 + asked, async (place) => {
      for (let n = 0; n < left; n++) {
        if (n % CHANGES_EVERY === 0) figures.changes += await change(place);
        const { query, expected, actual } = await ask(place, ignoresRules);
        figures.found += expected.total;
        if (expected.total === 0) figures.empty += 1;
        if (JSON.stringify(actual) === JSON.stringify(expected)) continue;
        figures.differences += 1;
        first ||= `${query}: the model has ${JSON.stringify(expected)}, the vault ${JSON.stringify(actual)}`;
      }
    });
    figures.queries += left;
  }
  if (figures.differences > 0) throw new CheckFailure(first, figures);
  return figures;
}

async function ask({ draw, clock, perform, searchers, tokens }: Place, ignoresRules: boolean) {
  const now = clock.now();
  const held = [...tokens.values()];
  const { text: query, query: asked } = randomQuery(draw, {
    now,
    id: () => draw.one([...held.map(({ id }) => id), 'no such token']),
    fingerprint: () => draw.one(held).fingerprint,
    application: () => draw.one(searchers).id,
  });
  const searcher = draw.one(searchers);
  const size = draw.one(SIZES);
  const body = { query, size, ...draw.one([{}, { transform: 'mask' }, { transform: 'redact' }]) };
  const { text, body: page } = await perform(searcher.key, 'searchTokens', { body });
  const { data, pagination } = page as {
    readonly data?: readonly { readonly id: string }[];
    readonly pagination?: { readonly total_items: number };
  };
  const actual = data ? { total: pagination?.total_items, ids: data.map(({ id }) => id) } : text;
  const found = held
    .filter(
      (token) =>
        (token.expires_at ?? Number.POSITIVE_INFINITY) > now &&
        (ignoresRules || searcher.reads(token)) &&
        matchesQuery(asked, token),
    )
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
  return { query, expected: { total: found.length, ids: found.slice(0, size).map(({ id }) => id) }, actual };
}

async function withPlace(seed: number, work: (place: Place) => Promise<void>) {
  const folder = makeMemoryFolder();
  const file = join(folder.path, 'vault.db');
  const clock = steppingClock();
  const { keyring, header } = await createKeyring({ kind: 'key_file', key: new Uint8Array(32) }, { now: clock.now() });
  const store = await createStore(file, header);
  const vault = composeVault({ file, store, keyring, clock, random: seededRandom(`search/${seed}`) });
  const client = directClient(vault);
  try {
    const { application } = await vault.createTenant('search');
    const perform = createCaller(() => client);
    const searchers = await Promise.all(SEARCHERS.map((row) => makeSearcher(perform, application.key ?? '', row)));
    const place: Place = { draw: createDraw(seed), clock, perform, searchers, tokens: new Map() };
    while (place.tokens.size < TOKENS) {
      clock.advance(place.draw.below(2) * place.draw.below(2_400_000));
      await create(place);
    }
    for (let patched = 0; patched < TOKENS / 4; patched++) await patch(place);
    await work(place);
  } finally {
    await client.close();
    folder.remove();
  }
}

const WRITES = ['token:create', 'token:update', 'token:delete', 'token:search'];
const rule = (container: string, transform: string, permissions: readonly string[]) => ({
  container,
  transform,
  permissions,
});
const isIn = (path: string) => (token: SearchedToken) => token.containers.some((own) => own.startsWith(path));

/** The applications. Each states the tokens that it reads twice: as rules and as a predicate. */
const SEARCHERS: readonly (Pick<Searcher, 'reads'> & { readonly rules: readonly object[] })[] = [
  { rules: [rule('/', 'reveal', [...WRITES, 'token:read'])], reads: () => true },
  { rules: [rule('/', 'mask', WRITES), rule('/pci/', 'mask', ['token:read'])], reads: isIn('/pci/') },
  {
    rules: [
      rule('/', 'redact', WRITES),
      rule('/x/', 'redact', ['token:read']),
      rule('/general/', 'mask', ['token:read']),
    ],
    reads: (token) => isIn('/x/')(token) || isIn('/general/')(token),
  },
];

async function makeSearcher(
  perform: Perform,
  key: string,
  { rules, reads }: (typeof SEARCHERS)[number],
): Promise<Searcher> {
  const numbered = rules.map((each, index) => ({ ...each, description: '', priority: index + 1 }));
  const body = { name: 'searcher', type: 'private', rules: numbered };
  const made = (await perform(key, 'createApplication', { body })).body;
  return { id: String(made['id']), key: String(made['key']), reads };
}

/**
 * Creates, patches or deletes a token, or advances the clock so that some tokens expire. Resolves to the number of
 * changes.
 */
async function change(place: Place): Promise<number> {
  const { draw, clock, perform, searchers, tokens } = place;
  const live = [...tokens.values()].filter(({ expires_at = Number.POSITIVE_INFINITY }) => expires_at > clock.now());
  if (live.length < TOKENS * 0.9) {
    await create(place);
    return 1;
  }
  const kind = draw.below(4);
  if (kind === 0) clock.advance(draw.below(7_200_000));
  else if (kind === 1) await create(place);
  else if (kind === 2) await patch(place);
  else {
    const { id } = draw.one(live);
    const { status, text } = await perform(searchers[0]?.key ?? '', 'deleteToken', { id });
    if (status !== 204) throw new Error(text);
    tokens.delete(id);
  }
  return 1;
}

/** Data for each type, and the search values of a token without `search_indexes`. */
const DATA: Readonly<Record<string, { readonly data: readonly unknown[]; readonly indexes?: readonly string[] }>> = {
  token: { data: ['Straße', 'ÄÖ', 'x', 'other'] },
  card: { data: [{ number: '4242424242424242' }, { number: '378282246310005', cvc: '1234' }] },
  card_number: { data: ['4242424242424242'] },
  social_security_number: { data: ['123-45-6789'], indexes: ['123-45-6789', '123456789', '6789'] },
};

async function create(place: Place): Promise<void> {
  const { draw } = place;
  const type = draw.one(Object.keys(DATA));
  const data = draw.one(DATA[type]?.data ?? []);
  await keep(place, draw.one(place.searchers), 'createToken', { ...members(place), type, data });
}

async function patch(place: Place): Promise<void> {
  const { draw, clock, tokens, searchers } = place;
  const { id, expires_at = Number.POSITIVE_INFINITY } = draw.one([...tokens.values()]);
  if (expires_at <= clock.now()) return;
  // Only the first searcher can read every token and move it.
  const { metadata = {}, ...more } = members(place);
  if (draw.chance(0.5)) await keep(place, draw.one(searchers), 'updateToken', { metadata }, id);
  else await keep(place, FIRST(place), 'updateToken', { metadata, ...more }, id);
}

const FIRST = ({ searchers }: Place) => searchers[0] as Searcher;

interface Members {
  readonly metadata?: object;
  readonly search_indexes?: readonly string[];
  readonly containers?: readonly string[];
  readonly expires_at?: string;
}

function members({ draw, clock }: Place): Members {
  const paths = draw.some(['/', '/pci/', '/PCI/high/', '/pci-dev/', '/general/high/', '/x/', '/x/y/']);
  const metadata = Object.fromEntries(draw.some(METADATA_KEYS).map((key) => [key, draw.one(['', ...TEXTS])]));
  return {
    ...(draw.chance(0.6) && { metadata }),
    ...(draw.chance(0.5) && { search_indexes: [draw.one(TEXTS), draw.one(TEXTS)] }),
    ...(draw.chance(0.7) && paths.length > 0 && { containers: paths }),
    ...(draw.chance(0.2) && { expires_at: new Date(clock.now() + 1 + draw.below(300_000_000)).toISOString() }),
  };
}

/** Writes a token and records for the model what a reader of all tokens sees. */
async function keep(
  place: Place,
  by: Searcher,
  operation: OperationId,
  body: Members & { type?: string; data?: unknown },
  id?: string,
) {
  const { perform, tokens } = place;
  const { status, text, body: made } = await perform(by.key, operation, { body, ...(id !== undefined && { id }) });
  if (status >= 300) throw new Error(text);
  const { body: shown } = await perform(FIRST(place).key, 'getToken', { id: String(made['id']) });
  const token = shown as Omit<SearchedToken, 'created_at'> & Readonly<Record<string, string>>;
  const at = (name: string) => (token[name] === undefined ? undefined : Date.parse(token[name] ?? ''));
  const before = tokens.get(token.id)?.searchValues ?? DATA[token.type]?.indexes ?? [];
  tokens.set(token.id, {
    ...token,
    metadata: token.metadata ?? {},
    searchValues: body.search_indexes ?? before,
    created_at: at('created_at') ?? 0,
    modified_at: at('modified_at'),
    expires_at: at('expires_at'),
  });
}

const run = ({ seed, quick }: CheckOptions) => compare({ seed, queries: quick ? QUICK : FULL });

/** Lets everybody read every token in the model, which must then differ from the vault. */
const control = ({ seed }: CheckOptions) => compare({ seed, queries: 200, ignoresRules: true });

/**
 * Checks on both stores that a search finds, counts and orders the tokens that match the query and that the caller
 * reads.
 */
export const CHECK: Check = { number: 24, name: 'search', quick: true, run, control };
