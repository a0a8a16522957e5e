import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../../contract/json.ts';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { asObject } from '../../output/result-view.ts';
import { isRunning, ownMachine } from '../../own-machine.ts';
import { findTokens, type SeedCalls } from './seed-calls.ts';
import { isInPlace, RECORD_CONTAINER } from './seed-record.ts';

/** No apply takes longer: a claim that is older was left by one that was killed; one from as far ahead, by nobody. */
const MAX_MS = 10 * 60 * 1000;

/** Tokens of others under such ids that are passed over. Whoever may create tokens could make thousands. */
const MAX_OTHERS = 100;

/** Tells this process from an earlier one of the same number. */
const OWN = randomUUID();

/**
 * Takes the seed for one apply. It is a token whose id two cannot make: `vault-seed.NAME.NUMBER`. The id of a deleted token stays
 * taken, so every apply takes the next number; `last` is that of the record. Whoever holds the claim reads the record after it has it.
 * Throws the fault `conflict` while another apply holds it, and when tokens of others stand in the way; the claim of one that
 * was killed is removed. Ids of deleted tokens do not conflict, because failed applies leave them too. The number grows with
 * each apply that changes something.
 */
export async function claimSeed(calls: SeedCalls, seed: string, last: number) {
  let others = 0;
  for (let number = Math.max(last, 1); ; number++) {
    const id = `vault-seed.${seed}.${number}`;
    if (number > last && (await make(calls, id))) return { number, release: () => remove(calls, id) };
    const there = (await findTokens(calls, [id])).get(id);
    if (there === undefined) continue;
    const holder = holderOf(there);
    if (holder === undefined) {
      others += 1;
      if (others <= MAX_OTHERS) continue;
      const fact = `more than ${MAX_OTHERS} tokens of others have ids that applies of the seed ${seed} need`;
      throw new Fault('conflict', fact, {
        hint: `delete the tokens vault-seed.${seed}.NUMBER that no apply has made; \`vault audit\` says who has`,
      });
    }
    if (isAlive(holder)) {
      const where = `process ${holder.pid} on ${holder.host.split('\n', 1)[0]}`;
      throw new Fault('conflict', `another apply of the seed ${seed} is under way: ${where}`, {
        hint: `apply again when it has ended; if it was killed on another machine or in another container: \`vault tokens delete ${id}\``,
      });
    }
    await remove(calls, id);
  }
}

async function make(calls: SeedCalls, id: string): Promise<boolean> {
  const data = { pid: process.pid, host: ownMachine(), process: OWN, since: Date.now() };
  const body = { id, type: 'token', data, containers: [RECORD_CONTAINER], deduplicate_token: false };
  try {
    await calls('createToken', { body });
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === 'token_id_taken') return false;
    throw error;
  }
}

async function remove(calls: SeedCalls, id: string): Promise<void> {
  try {
    await calls('deleteToken', { id });
  } catch (error) {
    // Two that find the claim of a killed apply both remove it.
    if (!(error instanceof Problem && error.code === 'token_not_found')) throw error;
  }
}

/** Undefined of a token that somebody else gave such an id: a claim is where only those stand that seeds are kept by. */
function holderOf(token: JsonObject) {
  if (!isInPlace(token)) return undefined;
  const { pid, host, process: own, since } = asObject(token['data'] ?? null) ?? {};
  if (typeof pid !== 'number' || typeof host !== 'string' || typeof own !== 'string') return undefined;
  return typeof since === 'number' ? { pid, host, process: own, since } : undefined;
}

function isAlive({ pid, host, process: own, since }: NonNullable<ReturnType<typeof holderOf>>): boolean {
  if (Math.abs(Date.now() - since) > MAX_MS) return false;
  if (host !== ownMachine()) return true;
  return pid === process.pid ? own === OWN : isRunning(pid);
}
