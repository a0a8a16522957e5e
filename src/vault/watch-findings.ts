import type { Follower } from '../core/audit/follower.ts';
import type { Meter } from '../core/meter.ts';
import type { Keyring, Store } from '../core/ports.ts';
import type { Clock } from '../core/time.ts';
import { yieldToLoop } from './batches.ts';

interface Parts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly follower: Follower;
  readonly clock: Clock;
}

/** Creates the check of a running vault, which compares its records with the audit, and the notice of its findings. */
export function watchFindings({ store, keyring, follower, clock }: Parts, meter: Meter | undefined) {
  /** The number of findings of the last check, and of the audit's openings when it started. */
  let last = { found: 0, openings: 0 };

  /** Resolves to one line for each finding. */
  async function check(): Promise<readonly string[]> {
    const openings = follower.openings();
    const { checkVault } = await import('./checks/check-vault.ts');
    const { findings } = await checkVault({ store, keyring }, undefined, { full: false, yieldToLoop });
    last = { found: findings.length, openings };
    meter?.checked(findings.length, clock.now());
    return findings.map(({ table, id, what }) => [table, id, what].filter(Boolean).join(' '));
  }

  return {
    check,

    /** Repeats the check if it had findings and the audit was opened again since: somebody may have accepted a tenant. */
    async checkAgain(): Promise<void> {
      if (last.found === 0) return;
      await follower.follow();
      if (follower.openings() !== last.openings) await check();
    },

    notices(): readonly string[] {
      const { found } = last;
      return found === 0 ? [] : [`the vault has ${found} finding${found === 1 ? '' : 's'}: run \`vault doctor\``];
    },
  };
}
