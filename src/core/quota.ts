import { Problem } from './problem.ts';
import { clearTimeout, setTimeout } from './timers.ts';

/** The maximum wait for a quota, in milliseconds. */
const MAX_WAIT_MS = 5_000;

/** A limit of what the accounts of a process hold at a time, such as bytes of replies. */
export type Quota = ReturnType<typeof createQuota>;

interface Waiting {
  readonly account: string;
  readonly amount: number;
  readonly admit: () => void;
}

export interface QuotaOptions {
  /** The maximum that an account holds. A larger amount must wait until the account holds nothing. */
  readonly each: number;
  /** The maximum that all accounts hold together. */
  readonly all: number;
  /** The detail of `vault_busy`. */
  readonly detail?: string;
}

export function createQuota({ each, all, detail }: QuotaOptions) {
  const held = new Map<string, number>();
  const waiting = new Set<Waiting>();
  let total = 0;

  function fits(account: string, amount: number): boolean {
    const own = held.get(account) ?? 0;
    return (own === 0 || own + amount <= each) && (total === 0 || total + amount <= all);
  }

  function add(account: string, amount: number): void {
    total += amount;
    const own = (held.get(account) ?? 0) + amount;
    if (own > 0) held.set(account, own);
    else held.delete(account);
  }

  function wait(account: string, amount: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.delete(one);
      admit();
      reject(new Problem('vault_busy', { retryAfter: 1, ...(detail && { detail }) }));
    }, MAX_WAIT_MS);
    const one: Waiting = {
      account,
      amount,
      admit() {
        clearTimeout(timer);
        resolve();
      },
    };
    waiting.add(one);
    return promise;
  }

  /** Admits those who have room. The amounts of an account keep their order: small ones would starve a large one. */
  function admit(): void {
    const blocked = new Set<string>();
    for (const one of waiting) {
      if (blocked.has(one.account)) continue;
      if (!fits(one.account, one.amount)) {
        blocked.add(one.account);
        continue;
      }
      waiting.delete(one);
      add(one.account, one.amount);
      one.admit();
    }
  }

  return {
    /** Returns whether an account may hold this much more. Others may hold the rest. */
    mayHold: (account: string, amount: number): boolean => (held.get(account) ?? 0) + amount <= each,

    /**
     * Takes an amount for an account, in the order of its calls. Returns undefined, or a promise if there is no room now:
     * it resolves when the amount was taken, and rejects with `vault_busy` after 5 s.
     */
    take(account: string, amount: number): Promise<void> | undefined {
      const isFirst = ![...waiting].some((one) => one.account === account);
      if (!isFirst || !fits(account, amount)) return wait(account, amount);
      add(account, amount);
      return undefined;
    },

    /** Takes an amount that exists already, whether there is room or not. */
    takeNow: add,

    giveBack(account: string, amount: number): void {
      if (amount === 0) return;
      add(account, -amount);
      admit();
    },
  };
}
