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

/**
 * The store can do no more work: its engine met an error from which it does not recover. Every call
 * is refused from then on. Whether the commits under way were applied is not known. The process has
 * to end; what was acknowledged is there when the store is opened again.
 */
export class StoreFailedError extends Error {
  override readonly name = 'StoreFailedError';
}

/**
 * What was read is not what was written: the disk, or somebody else, changed the data. Other reads
 * may still succeed.
 */
export class StoreDamagedError extends Error {
  override readonly name = 'StoreDamagedError';
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
