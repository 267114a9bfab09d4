import { setTimeout as pause } from 'node:timers/promises';

/** How long to wait for the package to say why a commit failed. */
const reasonWaitMs = 1_000;

/**
 * Why a transaction failed. The package rejects with a general error, and tells the reason by
 * rejecting a promise beside it, which somebody has to hold.
 */
export function commitReason(error: unknown): Promise<unknown> {
  if (!hasCommitError(error)) return Promise.resolve(error);
  const none = new Error('no reason was given');
  const told = error.commitError.catch((reason: unknown) => reason);
  return Promise.race([told, pause(reasonWaitMs, none, { ref: false })]);
}

function hasCommitError(error: unknown): error is { readonly commitError: Promise<unknown> } {
  return error instanceof Error && 'commitError' in error && error.commitError instanceof Promise;
}
