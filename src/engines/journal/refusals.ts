import { StoreFailedError, StoreWriteError } from '../../kv/errors.js';
import { guardRefusal, type Guard } from '../../kv/guards.js';
import type { Entry } from '../../kv/store.js';

/** Throws when the guard does not hold for the entry at its key. */
export function assertGuard(guard: Guard, found: Pick<Entry, 'version'> | undefined): void {
  const refusal = guardRefusal(guard, found?.version ?? 'absent');
  if (refusal !== undefined) throw refusal;
}

/** The error of a write that is refused because of this trouble. */
export function refusalOf(cause: Error): Error {
  if (cause instanceof StoreFailedError) return cause;
  return new StoreWriteError(`Nothing is written: ${cause.message}`, { cause });
}
