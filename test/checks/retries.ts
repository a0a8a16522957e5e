import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { inParallel, type Performed, seededNumbers } from './perform.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

const CLIENTS = 16;
/** The share of answers to drop: few kills fall between a commit and its answer. */
const LOST = 0.05;
const SIZES = { quick: { creates: 120, kills: 6 }, full: { creates: 2_000, kills: 50 } } as const;

interface RetryOptions {
  readonly seed: number;
  readonly creates: number;
  readonly kills: number;
  /** False makes the client retry without a key, for the control. */
  readonly keyed?: boolean;
}

/** Sends each create until it is answered, over kills. Rejects unless each made exactly one token. */
async function retries({ seed, creates, kills, keyed = true }: RetryOptions) {
  const random = seededNumbers(seed);
  await using vault = await serveVault();
  const figures = { creates, kills: 0, unanswered: 0, lost: 0, replayed: 0, in_progress: 0, tokens: 0 };
  const ids = new Map<number, string>();
  let restarted: Promise<unknown> = vault.start();

  async function send(index: number): Promise<Performed | undefined> {
    const body = { type: 'token', data: { index, filling: 'x'.repeat(Math.floor(random() * 500)) } };
    for (;;) {
      await restarted;
      try {
        const key = keyed ? { idempotencyKey: `retry ${index}` } : {};
        const reply = await vault.remote(vault.everything, 'createToken', { body, ...key });
        if (reply.status === 201 && random() >= LOST) return reply;
        if (reply.status === 201) figures.lost += 1;
        else if (reply.status === 409) figures.in_progress += 1;
        else if (reply.status !== 503) throw new CheckFailure(`a create was answered ${reply.status}`, figures);
      } catch (error) {
        if (!(error instanceof Error && error.name === 'Fault')) throw error;
        figures.unanswered += 1;
      }
      await sleep(5);
    }
  }

  async function kill(): Promise<void> {
    figures.kills += 1;
    await sleep(Math.floor(random() * 10));
    await vault.kill();
    await vault.start();
  }

  await inParallel(creates, CLIENTS, async (index) => {
    const reply = await send(index);
    ids.set(index, String(reply?.body['id']));
    if (reply?.replayed) figures.replayed += 1;
    if (ids.size * (kills + 1) > (figures.kills + 1) * creates) restarted = restarted.then(kill);
  });
  await restarted;
  await verify(vault, ids, figures);
  return figures;
}

async function verify(vault: ServedVault, ids: ReadonlyMap<number, string>, figures: Record<string, number>) {
  const list = await vault.remote(vault.everything, 'listTokens');
  const { total_items } = list.body['pagination'] as { readonly total_items: number };
  figures['tokens'] = total_items;
  await inParallel(ids.size, CLIENTS, async (index) => {
    const { body } = await vault.remote(vault.everything, 'getToken', { id: ids.get(index) ?? '' });
    const { index: found } = (body['data'] ?? {}) as { readonly index?: number };
    if (found !== index) throw new CheckFailure(`create ${index} was answered with the token of ${found}`, figures);
  });
  if (total_items !== ids.size) throw new CheckFailure(`${ids.size} creates made ${total_items} tokens`, figures);
  await vault.kill();
  await vault.requireSound(figures);
}

async function run({ seed, quick }: CheckOptions) {
  const size = SIZES[quick ? 'quick' : 'full'];
  const figures = await retries({ seed, ...size });
  if (figures.kills < size.kills) throw new CheckFailure('too few kills', figures);
  if (figures.replayed === 0) throw new CheckFailure('no create was answered by its stored reply', figures);
  return figures;
}

/** Retries creates without a key, so that a lost answer must lead to a second token. */
const control = ({ seed }: CheckOptions) => retries({ seed, creates: 120, kills: 4, keyed: false });

export const CHECK: Check = { number: 23, name: 'retries over kills', quick: true, runs: 'early', run, control };
