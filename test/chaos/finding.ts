import { setTimeout as pause } from 'node:timers/promises';

/** What a sound server does not do. Everything else that is thrown is a fault of the suite. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** How long anything may take. Generous: machines are busy, and only a hang passes it. */
export const limitMs = 60_000;

/** The value in time; otherwise a finding that tells what did not come. */
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

/** Resolves when it holds; a finding when it does not in time. */
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
