/** Thrown by a filter, which does not know where it stands; whoever called it makes an `ExpressionError` of it. */
export class FilterFailure extends Error {
  /** A fixed text that goes on after the filter's name: `needs an array`. */
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = 'FilterFailure';
    this.reason = reason;
  }
}
