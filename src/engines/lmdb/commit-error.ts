import { setTimeout as pause } from 'node:timers/promises';

/** How long to wait for the package to say why a commit failed. */
const reasonWaitMs = 1_000;

/**
 * Why a transaction failed. The package rejects with a general error, and tells the reason by
 * rejecting a promise beside it, which somebody has to hold.
 */
export async function commitReason(thrown: unknown): Promise<unknown> {
  if (!hasCommitError(thrown)) return thrown;
  const none = new Error('no reason was given');
  try {
    return await Promise.race([thrown.commitError, pause(reasonWaitMs, none, { ref: false })]);
  } catch (reason) {
    return reason;
  }
}

function hasCommitError(error: unknown): error is { readonly commitError: Promise<unknown> } {
  return error instanceof Error && 'commitError' in error && error.commitError instanceof Promise;
}
