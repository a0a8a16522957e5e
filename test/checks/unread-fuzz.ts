import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { OperationId } from '../../src/contract/operations.ts';
import { walkAudit } from '../../src/core/audit/walk-audit.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { composeVault } from '../../src/vault/vault.ts';
import { createStore } from '../create-store.ts';
import { type SteppingClock, seededRandom, steppingClock } from '../fixed-world.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { makeMemoryFolder } from './folder.ts';
import { createDraw } from './model-fuzz-bodies.ts';
import { callOf } from './permission-fixture.ts';
import { ALIKE, randomPatch, UNLIKE } from './unread-patches.ts';

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
    const parts = { traceId: 'trace', ...(id !== undefined && { params: { id } }) };
    return vault.dispatch(callOf(key, operation, parts, body));
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

export interface UnreadFuzzOptions {
  readonly seed: number;
  readonly patches: number;
  readonly callers?: readonly object[];
}

/**
 * Applies the same patches to one id in two vaults. The tokens differ in data that the caller cannot read, but replies
 * and audit entries must be equal. Rejects with the first patch that distinguishes the tokens.
 */
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
      // Use one caller for each token, because another caller could move the token to a container that this caller
      // reads.
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
