import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { walkAudit } from '../../src/core/audit/walk-audit.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { composeVault } from '../../src/vault/vault.ts';
import { createStore } from '../create-store.ts';
import { type SteppingClock, seededRandom, steppingClock } from '../fixed-world.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { makeMemoryFolder } from './folder.ts';
import { createDraw, type Draw } from './model-fuzz-bodies.ts';
import type { Plain, PlainObject } from './model-fuzz-values.ts';

/** Two versions of a token, one for each vault. They differ in their data alone. */
interface Pair {
  readonly type: string;
  readonly made: readonly [PlainObject, PlainObject];
}

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };
const EXPRESSIONS = { mask: '{{ data | stringify | last4 }}', search_indexes: ['{{ data | stringify }}'] };
const MANY = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`k${index}`, 'v']));

const pair = (type: string, ...made: Pair['made']): Pair => ({ type, made });

/** Pairs of similar size, so that their times are comparable. Larger data and more metadata take longer to seal. */
const ALIKE: readonly Pair[] = [
  pair('card', { data: CARD }, { data: { ...CARD, number: '5555555555554444', cvc: '124' } }),
  pair(
    'bank',
    { data: { routing_number: '021000021', account_number: '123456780' } },
    { data: { routing_number: '011401533', account_number: '123456789' } },
  ),
  pair('card_number', { data: '4242424242424242' }, { data: '5555555555554444' }),
  pair('social_security_number', { data: '123-45-6789' }, { data: '987-65-4321' }),
  pair('token', { data: { a: 1, number: '123' } }, { data: { a: 'x', cvc: '123' } }),
  pair('token', { data: 'secret' }, { data: { a: { deep: [null] } } }),
];

const UNLIKE: readonly Pair[] = [
  pair('card', { data: CARD }, { data: { number: '378282246310005' } }),
  pair('token', { data: { a: 1 }, ...EXPRESSIONS }, { data: [1, 2, 3], ...EXPRESSIONS }),
  pair('token', { data: { a: true }, metadata: MANY }, { data: { a: 'x'.repeat(20_000) }, metadata: MANY }),
  pair(
    'token',
    { data: { a: 'large'.repeat(3_000), b: '123' }, mask: { n: 'hidden' } },
    { data: { a: 'small', b: '124' }, mask: { n: 'hidden' } },
  ),
];

/** Expressions that fail on some of the data above and mostly yield a value for the rest. */
const DATA_DEPENDENT = [
  '{{ data.cvc }}',
  '{{ data.a }}',
  '{{ data.a | plus: 1 }}',
  '{{ data.b | plus: 1 }}',
  '{{ data | split: "-" | first }}',
  '{{ data | size }}',
  '{{ data.number | reveal_last: 4 }}',
  '{{ data | reveal_last: 4 }}',
  '{{ data | stringify | slice: 0, 3 }}',
  '{{ data.expiration_year | minus: 2029 }}',
  `{{ data | json: "$[?@ == '123']" }}`,
  `{{ data | json: "$[?@ == '4242424242424242']" }}`,
  `{{ data | json: "$[?@ < 'b']" | append: data.number }}`,
  '{{ data.a | to_boolean }}',
  '{{ data | stringify | to_number }}',
];
const ANY = ['{{ data }}', '{{ data | stringify }}', 'constant', ...DATA_DEPENDENT, ...DATA_DEPENDENT];
const BROKEN = ['{{ data | nope }}', '{% if data %}', '{{ data | reveal_last }}', '{{ data | alias_card }}', ''];
const OF_METADATA = ['{{ metadata.k0 }}', '{{ metadata.g }}{{ data.cvc }}'];

const DATA: readonly Plain[] = [
  { a: null },
  { a: 2, b: { c: null } },
  { b: 'y'.repeat(1_600) },
  { cvc: '12' },
  { cvc: '124' },
  { cvc: null },
  { number: null },
  { number: '4242424242424242' },
  { number: '4242424242424241' },
  { expiration_month: 13 },
  { expiration_year: 2031, pin: null },
  { pin: '1' },
  { account_number: '7', number: { a: null } },
  { routing_number: '021000021' },
  {},
  '5555555555554444',
  '123-45-6789',
  'text',
  [],
  7,
  null,
];

const CONTAINERS = ['/own/', '/own/', '/own/x/', '/pci/high/', '/read/', '/elsewhere/'];

/** Returns a random patch. Its result mostly depends on data that the caller cannot see. */
function randomPatch(draw: Draw, now: number): PlainObject {
  const expression = () => draw.one(draw.chance(0.02) ? BROKEN : ANY);
  const fingerprint = () => (draw.chance(0.2) ? draw.one(OF_METADATA) : expression());
  const members: Readonly<Record<string, () => Plain>> = {
    data: () => draw.one(DATA),
    mask: () => draw.one([expression(), { n: expression(), c: expression() }, { number: null }, null]),
    search_indexes: () => (draw.chance(0.1) ? null : [expression(), ...(draw.chance(0.5) ? [expression()] : [])]),
    fingerprint_expression: () => (draw.chance(0.1) ? null : fingerprint()),
    metadata: () => draw.one([{ g: '4' }, { k0: null }, { g: '123', h: '1', i: '2' }, null, {}]),
    containers: () => (draw.chance(0.1) ? null : [draw.one(CONTAINERS), ...(draw.chance(0.2) ? ['/own/'] : [])]),
    expires_at: () => draw.one([new Date(now + 86_400_000).toISOString(), null, '1/1/2001']),
    deduplicate_token: () => draw.one([true, true, false, null]),
  };
  const chosen = Object.entries(members).filter(([name]) => draw.chance(name === 'containers' ? 0.15 : 0.35));
  return Object.fromEntries(chosen.map(([name, make]) => [name, make()]));
}

const PATCHES = 10_000;
const QUICK_PATCHES = 1_000;
/** The number of patches for each pair of tokens. After more patches, both tokens become alike. */
const PATCHES_A_TOKEN = 4;
/** The largest allowed difference between the median times, in percent. */
const MAX_DIFFERENCE = 5;

const rule = (transform: string, container: string, ...permissions: string[]) => ({
  ...{ description: '', transform, container },
  permissions: permissions.map((name) => `token:${name}`),
});
const numbered = (...rules: ReturnType<typeof rule>[]) =>
  rules.map((each, index) => ({ priority: index + 1, ...each }));

/** Applications that update tokens but cannot read them in their containers. */
const UNREADING: readonly object[] = [
  { type: 'public', permissions: ['token:update'] },
  { type: 'public', permissions: ['token:create', 'token:update'] },
  { type: 'private', rules: numbered(rule('reveal', '/', 'update')) },
  { type: 'private', rules: numbered(rule('mask', '/', 'update')) },
  { type: 'private', permissions: ['token:update'], rules: numbered(rule('mask', '/read/', 'read')) },
  { type: 'private', rules: numbered(rule('reveal', '/own/', 'update'), rule('redact', '/read/', 'read', 'update')) },
];
/** Used by the control: an application that reads the tokens it updates. */
const READING: readonly object[] = [{ type: 'private', permissions: ['token:update', 'token:read'] }];

async function openVault(clock: SteppingClock, callers: readonly object[]) {
  const random = seededRandom('unread');
  const { keyring, header } = await createKeyring({ kind: 'key_file', key: random.bytes(32) }, { now: clock.now() });
  const folder = makeMemoryFolder();
  const file = join(folder.path, 'vault.db');
  const store = await createStore(file, header);
  const vault = composeVault({
    file,
    store,
    keyring,
    clock,
    random,
    auditLevel: 'all',
    auditStrict: true,
  });
  const { key: management } = (await vault.createTenant('unread')).application;

  async function dispatch(key: string | undefined, operation: OperationId, body: object, id?: string) {
    const { mediaType = 'application/json' }: Operation = OPERATIONS[operation];
    const content = { params: id === undefined ? {} : { id }, mediaType, bodyText: JSON.stringify(body) };
    return vault.dispatch({ operation, apiKey: key, query: [], traceId: 'trace', ...content });
  }
  async function create(key: string | undefined, operation: OperationId, body: object): Promise<string> {
    const reply = await dispatch(key, operation, body);
    if (reply.status !== 201) throw new Error(`the fixture: ${operation} answered ${reply.status}: ${reply.bodyText}`);
    return JSON.parse(reply.bodyText ?? '').key;
  }
  const apply = (body: object) => create(management, 'createApplication', { name: 'unread', ...body });

  const maker = await apply({ type: 'private', permissions: ['token:create'] });
  const keys: string[] = [];
  for (const caller of callers) keys.push(await apply(caller));
  return {
    keys,
    make: (body: object) => create(maker, 'createToken', body),
    patch: async (key: string, id: string, body: object) => {
      const started = performance.now();
      const reply = await dispatch(key, 'updateToken', body, id);
      return { reply, milliseconds: performance.now() - started };
    },
    /** Resolves to all audit entries, decrypted. Closes the vault. */
    audit: async (): Promise<readonly object[]> => {
      const entries: object[] = [];
      for await (const { sequence, at, event } of walkAudit({ store, keyring })) entries.push({ sequence, at, event });
      await vault.close();
      folder[Symbol.dispose]();
      return entries;
    },
  };
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

interface UnreadFuzzOptions {
  readonly seed: number;
  readonly patches: number;
  readonly callers?: readonly object[];
}

/** Applies the same patches to two tokens that differ in unread data. Replies and audits must be equal. */
export async function fuzzUnread({ seed, patches, callers = UNREADING }: UnreadFuzzOptions): Promise<Figures> {
  const draw = createDraw(seed);
  const clock = steppingClock();
  const [one, two] = [await openVault(clock, callers), await openVault(clock, callers)];
  const times: [number[], number[]] = [[], []];
  const statuses: Record<string, number> = {};
  let isAlike = false;
  let id = '';
  let who = 0;
  for (let number = 0; number < patches; number++) {
    clock.advance(1_000);
    if (number % PATCHES_A_TOKEN === 0) {
      id = `token-${number}`;
      // Another caller could move the token to where this one reads it.
      who = draw.below(callers.length);
      isAlike = draw.chance(0.6);
      const { type, made } = draw.one(isAlike ? ALIKE : UNLIKE);
      const common = { type, containers: [draw.one(['/own/', '/own/x/'])] };
      await one.make({ ...common, ...made[0], id });
      await two.make({ ...common, ...made[1], id });
      // This token duplicates the token of the first vault, but not that of the second.
      for (const vault of [one, two]) await vault.make({ ...common, ...made[0], id: `${id}-twin` });
    }
    const body = randomPatch(draw, clock.now());
    const patch = (vault: typeof one) => vault.patch(vault.keys[who] ?? '', id, body);
    // Alternate the order, so that warm caches do not always benefit the same vault.
    const isTurned = number % 2 === 1;
    const first = await patch(isTurned ? two : one);
    const second = await patch(isTurned ? one : two);
    const [a, b] = isTurned ? [second, first] : [first, second];
    if (!isDeepStrictEqual({ ...a.reply }, { ...b.reply })) {
      const what = `${a.reply.status} ${a.reply.bodyText}\n${b.reply.status} ${b.reply.bodyText}`;
      throw new CheckFailure(`patch ${number} by ${JSON.stringify(callers[who])}: ${JSON.stringify(body)}\n${what}`);
    }
    if (isAlike) times[0].push(a.milliseconds);
    if (isAlike) times[1].push(b.milliseconds);
    statuses[a.reply.status] = (statuses[a.reply.status] ?? 0) + 1;
  }
  const [entries, others] = [await one.audit(), await two.audit()];
  const different = entries.findIndex((entry, index) => !isDeepStrictEqual(entry, others[index]));
  if (different >= 0 || entries.length !== others.length) {
    throw new CheckFailure(`audit: ${JSON.stringify([entries[different], others[different]])}`);
  }
  const medians = times.map(median);
  const [low = 0, high = 0] = medians.toSorted((a, b) => a - b);
  return {
    patches,
    audit_entries: entries.length,
    ...Object.fromEntries(Object.entries(statuses).map(([status, count]) => [`answered_${status}`, count])),
    median_us: Math.round(low * 1_000),
    difference_percent: Math.round((high / low - 1) * 1_000) / 10,
  };
}

async function run({ seed, quick }: CheckOptions): Promise<Figures> {
  const figures = await fuzzUnread({ seed, patches: quick ? QUICK_PATCHES : PATCHES });
  if (quick || Number(figures['difference_percent']) <= MAX_DIFFERENCE) return figures;
  throw new CheckFailure('the times of the two tokens differ', figures);
}

/** Checks that an update does not depend on the data when the caller lacks `token:read`. */
export const CHECK: Check = {
  number: 22,
  name: 'unread updates',
  quick: true,
  runs: 'alone',
  run,
  // These callers read the tokens, so their replies must differ.
  control: ({ seed }) => fuzzUnread({ seed, patches: QUICK_PATCHES, callers: READING }),
};
