/** The measurements of a check, printed unchanged in its JSON line. */
export type Figures = Readonly<Record<string, number | string | boolean>>;

export interface CheckOptions {
  /** The seed of random choices. The same seed gives the same cases; process scheduling may still differ. */
  readonly seed: number;
  /** Whether to run only a sample, which ends within seconds. */
  readonly quick: boolean;
}

/**
 * A claim about the product that figures can prove. `scripts/check.ts` finds and runs every module of this folder that
 * exports a `CHECK`.
 */
export interface Check {
  readonly number: number;
  /** A lower-case description, such as "permission matrix". */
  readonly name: string;
  /** Whether `check:quick` also runs this check. */
  readonly quick: boolean;
  /**
   * The place in the schedule. `alone`: after all other checks, because it measures times. `early`: first, because it
   * is long. `beside`: next to the others, because it mostly waits. Default: in order.
   */
  readonly runs?: 'alone' | 'early' | 'beside';
  /** Resolves to the figures. Rejects with a `CheckFailure` when the claim does not hold. */
  run(options: CheckOptions): Promise<Figures>;
  /**
   * Runs the same check on a deliberately broken subject, and must reject with a `CheckFailure`. If the control
   * resolves or fails in another way, the check proves nothing and counts as failed.
   */
  control(options: CheckOptions): Promise<unknown>;
}

/** Reports a claim that does not hold. The message names the first violation; the figures count them. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure';
  readonly figures: Figures;

  constructor(message: string, figures: Figures = {}) {
    super(message);
    this.figures = figures;
  }
}

/**
 * Runs controls in turn. Rejects with a `CheckFailure` if each of them does, as it must, and resolves when one resolves.
 */
export async function mustAllFail(controls: readonly (() => unknown)[]): Promise<void> {
  const found: string[] = [];
  for (const control of controls) {
    try {
      await control();
      return;
    } catch (error) {
      if (!(error instanceof CheckFailure)) throw error;
      found.push(error.message);
    }
  }
  throw new CheckFailure(found.join('; '));
}
