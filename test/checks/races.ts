import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { directClient } from '../../src/client/direct.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { composeVault } from '../../src/vault/vault.ts';
import { createStore } from '../create-store.ts';
import { seededRandom } from '../fixed-world.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { makeMemoryFolder } from './folder.ts';
import { createCaller, EVERYTHING, inParallel, type Perform, type Performed, seededNumbers } from './perform.ts';
import { startServedVault } from './served-vault.ts';

const FULL = 1_000;
const QUICK = 40;
const WIDTH = 4;

/** The targets of the racers, which may be one vault, and the API keys. */
interface Course {
  readonly targets: readonly [Perform, Perform];
  readonly everything: string;
  readonly management: string;
}

/** Runs one round. Resolves to the violations. */
type Race = (course: Course, round: string, index: number) => Promise<readonly string[]>;

const statusesOf = (replies: readonly Performed[]) => replies.map(({ status }) => status).sort();
const expectStatuses = (what: string, replies: readonly Performed[], wanted: readonly number[]) =>
  String(statusesOf(replies)) === String(wanted) ? [] : [`${what}: ${statusesOf(replies)}, not ${wanted}`];

/** Creates one id four times. One create wins, the others fail with 409, and a read returns the winner's data. */
const sameId: Race = async ({ targets, everything }, round) => {
  const id = `race-${round}`;
  const racers = await Promise.all(
    [0, 1, 2, 3].map((racer) =>
      targets[racer % 2 === 0 ? 0 : 1](everything, 'createToken', { body: { id, type: 'token', data: racer } }),
    ),
  );
  const winner = racers.findIndex(({ status }) => status === 201);
  const read = await targets[1](everything, 'getToken', { id });
  const own = read.body['data'] === winner ? [] : [`same id: ${winner} won, ${read.text} is read`];
  return [...expectStatuses('same id', racers, [201, 409, 409, 409]), ...own];
};

/** Creates the same content four times. All replies return the same token. */
const dedup: Race = async ({ targets, everything }, round) => {
  const body = { type: 'token', data: `same ${round}`, deduplicate_token: true, metadata: { round } };
  const racers = await Promise.all(
    [0, 1, 2, 3].map((racer) => targets[racer % 2 === 0 ? 0 : 1](everything, 'createToken', { body })),
  );
  const ids = new Set(racers.map(({ body: token }) => token['id']));
  const list = await targets[0](everything, 'listTokens', { query: `metadata.round=${round}` });
  const { total_items } = list.body['pagination'] as { readonly total_items: number };
  return [
    ...expectStatuses('dedup', racers, [201, 201, 201, 201]),
    ...(ids.size === 1 && total_items === 1 ? [] : [`dedup: ${ids.size} ids, ${total_items} tokens`]),
  ];
};

/** Renews a key while it is in use. After the reply, the old key must fail through either target. */
const regenerate: Race = async ({ targets, everything: _, management }, round, index) => {
  const [renewing, using] = index % 2 === 0 ? targets : [targets[1], targets[0]];
  const body = { name: round, type: 'private', permissions: ['token:read'] };
  const made = await renewing(management, 'createApplication', { body });
  const old = String(made.body['key']);
  let renewed = false;
  const violations: string[] = [];
  const use = async () => {
    for (let more = 2; more > 0; ) {
      // The file target never waits for the event loop. Yield, so that replies of the daemon can arrive.
      await immediate();
      const after = renewed;
      // The daemon limits failed authentications and answers 429 beyond the limit, so send few.
      const { status } = await using(old, 'listTokens', { query: 'size=1' });
      if (after && status !== 401) violations.push(`regenerate: ${status} after the reply`);
      if (!after && status !== 200 && status !== 401) violations.push(`regenerate: ${status} before the reply`);
      if (status === 401 || after) more--;
      if (using === targets[0] && status === 401) return;
    }
  };
  const change = async () => {
    const reply = await renewing(management, 'regenerateApplicationKey', { id: String(made.body['id']) });
    renewed = true;
    return reply;
  };
  const users = using === targets[0] ? [use()] : [use(), use()];
  const [reply] = await Promise.all([change(), ...users]);
  const fresh = await using(String(reply.body['key']), 'listTokens', { query: 'size=1' });
  return [...violations, ...(fresh.status === 200 ? [] : [`regenerate: ${fresh.status} with the new key`])];
};

/** Patches four different members at the same time. Every acknowledged patch must be in the token. */
const patches: Race = async ({ targets, everything }, round) => {
  const body = { type: 'token', data: { round }, metadata: { first: 'yes' } };
  const id = String((await targets[0](everything, 'createToken', { body })).body['id']);
  const racers = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name, racer) => {
      const patch = { data: { [name]: racer }, metadata: { [name]: String(racer) } };
      return targets[racer % 2 === 0 ? 0 : 1](everything, 'updateToken', { id, body: patch });
    }),
  );
  const { data, metadata } = (await targets[1](everything, 'getToken', { id })).body as {
    readonly data: Readonly<Record<string, unknown>>;
    readonly metadata: Readonly<Record<string, unknown>>;
  };
  return racers.flatMap(({ status }, racer) => {
    const name = 'abcd'.charAt(racer);
    const there = data[name] === racer && metadata[name] === String(racer);
    const none = !(name in data) && !(name in metadata);
    if (status === 200 ? there : status === 409 && none) return [];
    return [`patches: ${name} was answered ${status} and is ${there ? '' : 'not '}there`];
  });
};

/** Patches a token through one target while the other deletes it. The token must stay deleted. */
const targetAgainstTarget: Race = async ({ targets, everything }, round, index) => {
  const [patching, deleting] = index % 2 === 0 ? targets : [targets[1], targets[0]];
  const made = await patching(everything, 'createToken', { body: { type: 'token', data: { round } } });
  const id = String(made.body['id']);
  const patch = () => patching(everything, 'updateToken', { id, body: { data: { more: 1 } } });
  const [first, gone, second] = await Promise.all([patch(), deleting(everything, 'deleteToken', { id }), patch()]);
  const reads = await Promise.all([...targets].map((target) => target(everything, 'getToken', { id })));
  const patched = [first, second].filter(({ status }) => status !== 200 && status !== 404);
  return [
    ...(gone.status === 204 ? [] : [`target against target: the delete was answered ${gone.status}`]),
    ...patched.map(({ status }) => `target against target: a patch was answered ${status}`),
    ...expectStatuses('target against target: read', reads, [404, 404]),
  ];
};

/** Creates four times with one idempotency key through both targets. All successful replies return the same token. */
const oneKey: Race = async ({ targets, everything }, round) => {
  const create = { body: { type: 'token', data: 1, metadata: { round } }, idempotencyKey: round };
  const racers = await Promise.all(
    [0, 1, 2, 3].map((n) => targets[n % 2 === 0 ? 0 : 1](everything, 'createToken', create)),
  );
  const others = racers.filter(({ status, text }) => status !== 201 && !text.includes('idempotency_in_progress'));
  const ids = new Set(racers.flatMap(({ status, body }) => (status === 201 ? [body['id']] : [])));
  const list = await targets[0](everything, 'listTokens', { query: `metadata.round=${round}` });
  const { total_items } = list.body['pagination'] as { readonly total_items: number };
  return [
    ...others.map(({ status }) => `one key: a create was answered ${status}`),
    ...(ids.size === 1 && total_items === 1 ? [] : [`one key: ${ids.size} ids, ${total_items} tokens`]),
  ];
};

const RACES = {
  same_id: sameId,
  dedup,
  regenerate,
  patches,
  target_against_target: targetAgainstTarget,
  one_key: oneKey,
} as const;

async function runRaces(course: Course, rounds: number, seed: number, races: readonly (keyof typeof RACES)[]) {
  const random = seededNumbers(seed);
  const run = Math.floor(random() * 2 ** 31).toString(36);
  const figures: Record<string, number> = { rounds_each: rounds, violations: 0 };
  let first = '';
  for (const name of races) {
    const started = performance.now();
    const width = name === 'regenerate' ? 1 : WIDTH;
    await inParallel(rounds, width, async (index) => {
      const seen = await RACES[name](course, `${run}-${name.replaceAll('_', '-')}-${index}`, index);
      figures['violations'] = (figures['violations'] ?? 0) + seen.length;
      first ||= seen[0] ?? '';
      if (name === 'regenerate') await rationed(index);
    });
    figures[`${name}_ms`] = Math.round(performance.now() - started);
  }
  if (first !== '') throw new CheckFailure(first, figures);
  return figures;
}

/** Keeps failed authentications below the daemon's limit of 20 a second. */
async function rationed(index: number): Promise<void> {
  if (index % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 600));
}

async function run({ seed, quick }: CheckOptions) {
  await using vault = await startServedVault();
  const { remote, direct, everything, management } = vault;
  const course = { targets: [remote, direct] as const, everything, management };
  const names = Object.keys(RACES) as (keyof typeof RACES)[];
  return await runRaces(course, quick ? QUICK : FULL, seed, names);
}

/** Runs the patches on a store that ignores revisions, so that updates must get lost. */
async function control({ seed }: CheckOptions) {
  const random = seededRandom(`races ${seed}`);
  const { keyring, header } = await createKeyring({ kind: 'key_file', key: random.bytes(32) }, { now: Date.now() });
  using folder = makeMemoryFolder();
  const file = join(folder.path, 'vault.db');
  const store = await createStore(file, header);
  const replace = store.replaceToken.bind(store);
  store.replaceToken = async (token, indexes, { now }, audit) => {
    for (;;) {
      const current = await store.findToken(token.tenant_id, token.id, now);
      if (!current) return false;
      if (await replace(token, indexes, { revision: current.revision, now }, audit)) return true;
    }
  };
  const vault = composeVault({ file, store, keyring });
  const { application } = await vault.createTenant('control');
  const perform = createCaller(() => directClient(vault));
  const management = application.key ?? '';
  const made = await perform(management, 'createApplication', { body: EVERYTHING });
  const everything = String(made.body['key']);
  try {
    return await runRaces({ targets: [perform, perform], everything, management }, 20, seed, ['patches']);
  } finally {
    await vault.close();
  }
}

export const CHECK: Check = { number: 16, name: 'races', quick: true, run, control };
