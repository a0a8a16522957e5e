import { setTimeout as sleep } from 'node:timers/promises';
import { remoteClient } from '../../src/client/remote.ts';
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { startDaemon } from './daemon-process.ts';
import { builtText, withPatch } from './patched-product.ts';
import { createCaller, inParallel, type Perform, type Performed, seededNumbers } from './perform.ts';
import { serveVault } from './served-vault.ts';

/** A daemon answers more than twenty unknown keys a second with 429. Valid keys always pass. */
const REFUSED: readonly number[] = [401, 429];
const WIDTH = 4;
const MAX_DELAY_MS = 20;
const CAP = DEFAULT_LIMITS.expiring;

const RULE = { description: '', priority: 1, transform: 'reveal', permissions: ['token:read'] };
const CHILD = {
  name: 'child',
  type: 'expiring',
  rules: [{ ...RULE, conditions: [{ attribute: 'container', operator: 'starts_with', value: '/' }] }],
};
const CREATORS = {
  private: { type: 'private', rules: [{ ...RULE, container: '/' }], can_create_expiring_applications: true },
  management: { type: 'management', permissions: ['application:create'] },
} as const;
const ENDS = ['regenerateApplicationKey', 'deleteApplication'] as const;

interface ChildrenAttack {
  readonly daemons: readonly [Perform, Perform];
  readonly management: string;
  readonly rounds: number;
  readonly seed: number;
}

/** Mints children with a stolen key, which must all end with it, and then beyond the cap of one creator. */
export async function attackChildren({ daemons, management, rounds, seed }: ChildrenAttack) {
  const random = seededNumbers(seed);
  const counts = { rounds: 0, children: 0, alive_after: 0, cap: 0, refused_beyond_cap: 0 };
  const fail = (what: string) => new CheckFailure(what, counts);

  async function steal(type: keyof typeof CREATORS) {
    const made = await daemons[0](management, 'createApplication', { body: { name: type, ...CREATORS[type] } });
    return { id: String(made.body['id']), key: String(made.body['key']) };
  }
  const mint = (key: string, through: number) =>
    daemons[through % 2 === 0 ? 0 : 1](key, 'createApplication', {
      body: { ...CHILD, expires_at: new Date(Date.now() + 3_600_000).toISOString() },
    });
  const keyOf = ({ status, body }: Performed) => (status === 201 ? [String(body['key'])] : []);
  const use = async (key: string) =>
    Promise.all(daemons.map(async (daemon) => (await daemon(key, 'listTokens', { query: 'size=1' })).status));

  async function countAlive(children: readonly string[]): Promise<number> {
    const statuses = await Promise.all(children.map(use));
    return statuses.filter((seen) => seen.some((status) => !REFUSED.includes(status))).length;
  }

  for (; counts.rounds < rounds; counts.rounds += 1) {
    const { id, key } = await steal(counts.rounds % 4 < 2 ? 'private' : 'management');
    const end = ENDS[counts.rounds % 2 === 0 ? 0 : 1];
    const owner = daemons[Math.floor(random() * 2) === 0 ? 0 : 1];
    const children = keyOf(await mint(key, counts.rounds));
    const before = await Promise.all(children.map(use));
    if (String(before) !== '200,200') throw fail(`the first child was answered ${before}`);
    let isOver = false;
    const thief = async (at: number) => {
      while (!isOver) {
        const minted = keyOf(await mint(key, at));
        children.push(...minted);
        if (minted.length === 0) return;
        if (!isOver) await use(minted[0] ?? '');
      }
    };
    const thieves = Array.from({ length: WIDTH }, (_, at) => thief(at));
    await sleep(random() * MAX_DELAY_MS);
    const { status } = await owner(management, end, { id });
    const alive = await countAlive(children);
    isOver = true;
    await Promise.all(thieves);
    counts.children += children.length;
    counts.alive_after += alive + (await countAlive(children));
    if (status >= 300 || counts.alive_after > 0) throw fail(`${end} (${status}) left ${counts.alive_after} children`);
  }

  const { id, key } = await steal('private');
  const children: string[] = [];
  await inParallel(CAP + 20, 16, async (at) => {
    const reply = await mint(key, at);
    children.push(...keyOf(reply));
    if (reply.status === 429 && reply.text.includes('valid expiring applications')) counts.refused_beyond_cap += 1;
  });
  const shown = await daemons[1](management, 'getApplication', { id });
  counts.cap = Number(shown.body['expiring_applications']);
  if (counts.cap !== CAP || children.length !== CAP) throw fail(`${children.length} children, ${counts.cap} are shown`);
  if (counts.refused_beyond_cap !== 20) throw fail('a child beyond the cap was not answered with 429');
  await daemons[0](management, 'regenerateApplicationKey', { id });
  counts.alive_after += await countAlive(children.slice(0, 50));
  const after = await daemons[1](management, 'getApplication', { id });
  if (counts.alive_after > 0 || after.body['expiring_applications'] !== 0) throw fail('children of the cap live on');
  return counts;
}

export const ROUNDS = { quick: 24, full: 300 } as const;

/** The part of the built product by which children end with a replaced key, and what leaves them alive. */
const KEEP_CHILDREN = [builtText('parent_id:type==="expiring"?creator.id:void 0'), 'parent_id:void 0'] as const;

async function attack({ seed, quick }: CheckOptions, bin?: string) {
  await using vault = await serveVault();
  const { file, management } = vault;
  const start = (name: string) => startDaemon({ file, readyFile: `${file}.${name}.json`, bin });
  await using one = await start('one');
  await using two = await start('two');
  const clients = [one, two].map(({ url }) => remoteClient({ url }));
  try {
    const daemons = clients.map((client) => createCaller(() => client)) as [Perform, Perform];
    const figures = await attackChildren({ daemons, management, rounds: ROUNDS[quick ? 'quick' : 'full'], seed });
    await vault.requireSound(figures);
    return figures;
  } finally {
    for (const client of clients) await client.close();
  }
}

/** Returns the check by its attack on a file or on a store. The control's product keeps the children of a replaced key. */
export const childrenCheck = (run: (options: CheckOptions, bin?: string) => Promise<Figures>): Check => ({
  number: 34,
  name: 'children of a stolen key',
  quick: true,
  run: (options) => run(options),
  control: (options) => withPatch(KEEP_CHILDREN, (bin) => run(options, bin)),
});

export const CHECK = childrenCheck(attack);
