/** What a check measured: flat, printed as they are in its one JSON line. */
export type Figures = Readonly<Record<string, number | string | boolean>>;

export interface CheckOptions {
  /** The same seed gives the same cases; what the operating system schedules may still differ. */
  readonly seed: number;
  /** A sample that ends within seconds, instead of the whole. */
  readonly quick: boolean;
}

/**
 * One claim about the product that figures can show. Modules of this folder that export a `CHECK` are found and run by
 * `scripts/check.js`; nothing has to be registered.
 */
export interface Check {
  readonly number: number;
  /** In words, lower-case: "permission matrix". */
  readonly name: string;
  /** Whether it is part of `check:quick`, too. */
  readonly quick: boolean;
  /**
   * How it runs with others: `alone` after all of them, because its figures are times; `early`, because it is long;
   * `beside` all others, because it mostly waits. Absent: when its turn comes.
   */
  readonly runs?: 'alone' | 'early' | 'beside';
  /** Throws a `CheckFailure` when the claim does not hold; resolves to the figures when it does. */
  run(options: CheckOptions): Promise<Figures>;
  /**
   * The negative control: runs the same machinery on something that is wrong on purpose, and must throw a `CheckFailure`.
   * A check whose control resolves, or fails in another way, proves nothing and counts as failed.
   */
  control(options: CheckOptions): Promise<unknown>;
}

/** The claim does not hold. The figures say how often, the message says what was seen first. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure';
  readonly figures: Figures;

  constructor(message: string, figures: Figures = {}) {
    super(message);
    this.figures = figures;
  }
}
