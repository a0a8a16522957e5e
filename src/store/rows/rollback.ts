/** Thrown in a transaction to roll it back. The change resolves to `result`. */
export class Rollback<T> extends Error {
  readonly result: T;

  constructor(result: T) {
    super('the transaction is rolled back');
    this.result = result;
  }
}
