import { messageOf } from '../base/thrown.js';

/** A call after `close`. */
export class StoreClosedError extends Error {
  override readonly name = 'StoreClosedError';

  constructor() {
    super('The store is closed.');
  }
}

/**
 * A commit that the engine could not write (a full disk, for instance). Nothing of it was applied,
 * the store continues to serve, and the same commit may be tried again. `cause` says why.
 */
export class StoreWriteError extends Error {
  override readonly name = 'StoreWriteError';
}

/**
 * The disk of the store has no more than its reserve left, so a commit that `grows` was refused.
 * Nothing of it was applied. Other commits go on.
 */
export class StoreFullError extends Error {
  override readonly name = 'StoreFullError';
}

/** The queue of waiting commits is full. Nothing of this commit was applied; retry later. */
export class StoreBusyError extends Error {
  override readonly name = 'StoreBusyError';

  constructor() {
    super('Too many commits wait to be written. Try again later.');
  }
}

/**
 * The store cannot be reached for now: a database on another machine, for instance. Nothing of the
 * call was done; retry later.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/**
 * The outcome of the commit is unknown: it may have been applied or not. With every other error of
 * a commit, nothing was applied. Before a retry, read what is there.
 */
export class CommitUnknownError extends Error {
  override readonly name = 'CommitUnknownError';
}

/** The error of a commit that may have been written although `cause` was thrown. */
export function unknownOutcome(cause: unknown): CommitUnknownError {
  const text = `Whether the commit was applied is not known: ${messageOf(cause)}`;
  return new CommitUnknownError(text, { cause });
}

/** The guard of a call does not hold; nothing was done. `actual` is what was found at its key. */
export class GuardError extends Error {
  override readonly name = 'GuardError';
  readonly actual: number | 'absent';

  constructor(actual: number | 'absent') {
    super(`The guard of the call does not stand: its key has the version ${actual}.`);
    this.actual = actual;
  }
}

/**
 * The store has failed for good: its engine met an error that it cannot recover from. Every further
 * call is refused and applies nothing. The process has to be restarted; acknowledged commits are
 * there after the store is reopened.
 */
export class StoreFailedError extends Error {
  override readonly name = 'StoreFailedError';
}

/**
 * A stored entry is damaged: the bytes read are not those written. Other reads may still succeed.
 */
export class StoreDamagedError extends Error {
  override readonly name = 'StoreDamagedError';
}

/** Every attempt of `transact` conflicted with another commit. */
export class TransactionConflictError extends Error {
  override readonly name = 'TransactionConflictError';
  readonly attempts: number;

  constructor(attempts: number) {
    super(`A transaction conflicted with others ${attempts} times in a row.`);
    this.attempts = attempts;
  }
}
