import { CheckFailure } from './check.ts';
import { withPatch } from './patched-product.ts';

/** A guard as the built product has it, the code without it, and the attack that must then succeed. */
export type Guard = readonly [guard: string, without: string, attack: (bin: string) => unknown];

/**
 * Removes each guard from a copy of the product, as the control of a check. Rejects with a `CheckFailure` if every
 * attack succeeds, as it must, and resolves if one fails.
 */
export async function removeGuards(guards: readonly Guard[]): Promise<void> {
  const found: string[] = [];
  for (const [guard, without, attack] of guards) {
    try {
      await withPatch([guard, without], async (bin) => attack(bin));
      return;
    } catch (error) {
      if (!(error instanceof CheckFailure)) throw error;
      found.push(error.message);
    }
  }
  throw new CheckFailure(found.join('; '));
}
