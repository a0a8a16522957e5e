import type { Follower } from '../core/audit/follower.ts';
import type { Clock } from '../core/clock.ts';
import type { Meter } from '../core/meter.ts';
import type { Keyring, Store } from '../core/ports.ts';
import { yieldToLoop } from './batches.ts';

interface Parts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly follower: Follower;
  readonly clock: Clock;
}

/** Creates the check of a running vault, which compares its records with the audit, and the notice of its findings. */
export function watchFindings({ store, keyring, follower, clock }: Parts, meter: Meter | undefined) {
  /** The number of findings of the last check, and of the acceptances when it started. */
  let last = { found: 0, acceptances: 0 };

  /** Resolves to one line for each finding. */
  async function check(): Promise<readonly string[]> {
    const acceptances = follower.acceptances();
    const { checkVault } = await import('./checks/check-vault.ts');
    const { findings } = await checkVault({ store, keyring }, undefined, { full: false, yieldToLoop });
    last = { found: findings.length, acceptances };
    meter?.checked(findings.length, clock.now());
    return findings.map(({ table, id, what }) => [table, id, what].filter(Boolean).join(' '));
  }

  return {
    check,

    /** Repeats the check if it had findings and a tenant was accepted since: the findings may be obsolete. */
    async checkAccepted(): Promise<void> {
      if (last.found === 0) return;
      await follower.follow();
      if (follower.acceptances() !== last.acceptances) await check();
    },

    notices(): readonly string[] {
      const { found } = last;
      return found === 0 ? [] : [`the vault has ${found} finding${found === 1 ? '' : 's'}: run \`vault doctor\``];
    },
  };
}
