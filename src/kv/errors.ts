/** A call after `close`. */
export class StoreClosedError extends Error {
  override readonly name = 'StoreClosedError';

  constructor() {
    super('The store is closed.');
  }
}

/**
 * A commit that the engine could not write (a full disk, for instance). Nothing of it was applied,
 * the store goes on serving, and the same commit may be tried again. `cause` says why.
 */
export class StoreWriteError extends Error {
  override readonly name = 'StoreWriteError';
}

/** Every attempt of `transact` met a commit of someone else. */
export class TransactionConflictError extends Error {
  override readonly name = 'TransactionConflictError';
  readonly attempts: number;

  constructor(attempts: number) {
    super(`A transaction conflicted with others ${attempts} times in a row.`);
    this.attempts = attempts;
  }
}
