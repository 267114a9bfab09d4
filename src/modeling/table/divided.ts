import { TooLargeError } from '../rows/model-error.js';
import { TransactionFailedError } from './errors.js';

/**
 * Whether writes were too large together, and fewer of them may be sent. A table that writes
 * further rows with each, or encrypts them, accepts fewer at once than its writers can know.
 */
export function isTooLargeTogether(error: unknown): boolean {
  if (error instanceof TooLargeError) return true;
  return (
    error instanceof TransactionFailedError &&
    error.index === undefined &&
    error.reason instanceof TooLargeError
  );
}

/**
 * Sends items together or, where they are too large together, in halves, one after the other. Not
 * atomic then: when `send` throws, the items before those may have been sent. `isTooLarge`
 * recognises the error of `send` for items that are too large together.
 */
export async function divided<T>(
  items: readonly T[],
  send: (items: readonly T[]) => Promise<unknown>,
  isTooLarge: (error: unknown) => boolean = isTooLargeTogether,
): Promise<void> {
  try {
    await send(items);
  } catch (error) {
    if (items.length < 2 || !isTooLarge(error)) throw error;
    const middle = Math.ceil(items.length / 2);
    await divided(items.slice(0, middle), send, isTooLarge);
    await divided(items.slice(middle), send, isTooLarge);
  }
}
