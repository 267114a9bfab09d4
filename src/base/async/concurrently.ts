/**
 * Runs the work for each item, at most `concurrency` at a time. Stops at the first failure of the
 * work or of the items, and waits for the work that has begun.
 */
export async function concurrently<T>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const item of items) {
      const run = work(item)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => running.delete(run));
      running.add(run);
      if (running.size >= concurrency) await Promise.race(running);
      if (failure !== undefined) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failure !== undefined) throw failure.error;
}

/** The results of `load` in the order of the items, loaded ahead with bounded concurrency. */
export async function* concurrentlyInOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  load: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const ahead: Promise<R>[] = [];
  for await (const item of items) {
    const loading = load(item);
    // A reader that gets this far sees the rejection; one that stops earlier must not leave it
    // unhandled.
    loading.catch(() => undefined);
    ahead.push(loading);
    const next = ahead.length >= concurrency ? ahead.shift() : undefined;
    if (next !== undefined) yield await next;
  }
  for (const loading of ahead) yield await loading;
}
