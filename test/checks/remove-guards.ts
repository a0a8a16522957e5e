import { mustAllFail } from './check.ts';
import { withPatch } from './patched-product.ts';

/** A guard as the built product has it, the code without it, and the attack that must then succeed. */
export type Guard = readonly [guard: string, without: string, attack: (bin: string) => unknown];

/**
 * Removes each guard from a copy of the product, as the control of a check. Rejects with a `CheckFailure` if every
 * attack succeeds, as it must, and resolves if one fails.
 */
export function removeGuards(guards: readonly Guard[]): Promise<void> {
  return mustAllFail(
    guards.map(
      ([guard, without, attack]) =>
        () =>
          withPatch([guard, without], async (bin) => attack(bin)),
    ),
  );
}
