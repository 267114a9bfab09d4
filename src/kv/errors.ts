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
 * More commits wait to be written than a store lets wait. Nothing of this one was applied; the same
 * may be tried again in a while.
 */
export class StoreBusyError extends Error {
  override readonly name = 'StoreBusyError';

  constructor() {
    super('Too many commits wait to be written. Try again later.');
  }
}

/**
 * The commit may have been applied, or may not, and the store cannot tell. After no other error of
 * a commit has anything been applied. Whoever tries again looks first at what is there.
 */
export class CommitUnknownError extends Error {
  override readonly name = 'CommitUnknownError';
}

/** The guard of a call does not stand: nothing was done. `actual` is what was found at its key. */
export class GuardError extends Error {
  override readonly name = 'GuardError';
  readonly actual: number | 'absent';

  constructor(actual: number | 'absent') {
    super(`The guard of the call does not stand: its key has the version ${actual}.`);
    this.actual = actual;
  }
}

/**
 * The store can do no more work: its engine met an error from which it does not recover. Every call
 * is refused from then on, and nothing of it is applied. The process has to end; what was
 * acknowledged is there when the store is opened again.
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
