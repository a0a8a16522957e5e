/**
 * The error for an expression (decisions §4) that was rejected or failed. `reason` is a fixed text that names filters
 * and parameters and never quotes the expression or the data, so the caller may see it.
 */
export class ExpressionError extends Error {
  readonly reason: string;
  /** The offset in the expression's text, in UTF-16 code units, from 0. */
  readonly position: number;
  /**
   * The path of the expression in a mask, such as `card.numbers.0`. Empty for a mask that is one string, and for other
   * expressions.
   */
  readonly path: string;

  constructor(reason: string, position: number, path = '') {
    super(`${reason} (character ${position})`);
    this.name = 'ExpressionError';
    this.reason = reason;
    this.position = position;
    this.path = path;
  }
}

/**
 * The error that a filter throws. A filter does not know its position, so its caller converts this error into an
 * `ExpressionError`.
 */
export class FilterFailure extends Error {
  /** A fixed text that follows the filter's name: `needs an array`. */
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = 'FilterFailure';
    this.reason = reason;
  }
}
