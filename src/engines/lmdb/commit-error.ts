import { systemTimers } from '../../base/async/timers.js';
import { within } from '../../base/async/deadline.js';

/** How long to wait for the package to say why a commit failed. */
const reasonWaitMs = 1_000;

/**
 * Why a transaction failed. The package rejects with a general error, and reports the reason by
 * rejecting a second promise, which needs a handler.
 */
export async function commitReason(thrown: unknown): Promise<unknown> {
  if (!hasCommitError(thrown)) return thrown;
  try {
    return await within(thrown.commitError, {
      limitMs: reasonWaitMs,
      timers: systemTimers,
      late: () => new Error('no reason was given'),
    });
  } catch (reason) {
    return reason;
  }
}

function hasCommitError(error: unknown): error is { readonly commitError: Promise<unknown> } {
  return error instanceof Error && 'commitError' in error && error.commitError instanceof Promise;
}
