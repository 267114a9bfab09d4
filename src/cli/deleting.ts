import { briefRetries, retrying } from './client/retry.js';
import { ServiceError } from './client/service-error.js';

/**
 * Deletes something, and retries transient failures. When the answer to an attempt was lost and the
 * next one fails with `goneCode`, the lost attempt counts as the deletion.
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
