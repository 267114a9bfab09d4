import { setTimeout as pause } from 'node:timers/promises';

/**
 * Behaviour that a correct server does not show. Everything else that is thrown is an error of the
 * suite.
 */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/**
 * The longest that anything may take. Generous, so that only a hang exceeds it on a busy machine.
 */
export const limitMs = 60_000;

/** The value, if it arrives in time; otherwise throws a finding that says what is missing. */
export async function within<T>(what: string, promise: Promise<T>, ms = limitMs): Promise<T> {
  const timer = new AbortController();
  const late = pause(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Finding(`hangs: ${what} within ${ms} ms`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}

/** Resolves when the condition holds; throws a finding when it does not in time. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  ms = limitMs,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > end) throw new Finding(`hangs: ${what} within ${ms} ms`);
    await pause(20);
  }
}
