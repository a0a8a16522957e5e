/** Thrown in a transaction to undo it. The change resolves to `result`. */
export class Undo<T> extends Error {
  readonly result: T;

  constructor(result: T) {
    super('the transaction is undone');
    this.result = result;
  }
}
