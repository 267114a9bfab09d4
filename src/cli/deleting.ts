import { briefRetries, retrying } from './client/retry.js';
import { ServiceError } from './client/service-error.js';

/**
 * Deletes something, and retries transient failures. What has `goneCode` behind an attempt whose
 * answer was lost counts as deleted by that one.
 */
export async function deleting(goneCode: string, run: () => Promise<unknown>): Promise<void> {
  let wasLost = false;
  try {
    await retrying(briefRetries, run, { onRetry: () => (wasLost = true) });
  } catch (error) {
    const isGone = error instanceof ServiceError && error.code === goneCode;
    if (!isGone || !wasLost) throw error;
  }
}
