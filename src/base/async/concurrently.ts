/** Runs the work for every item as it comes, so many at a time. Ends with the first failure. */
export async function concurrently<T>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
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
  await Promise.all(running);
  if (failure !== undefined) throw failure.error;
}

/** What `load` gives for each item, in the order of the items, so many loaded ahead. */
export async function* concurrentlyInOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  load: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const ahead: Promise<R>[] = [];
  for await (const item of items) {
    const loading = load(item);
    // Who reads so far sees the failure; a reader that stops before must not end the process.
    loading.catch(() => undefined);
    ahead.push(loading);
    const next = ahead.length >= concurrency ? ahead.shift() : undefined;
    if (next !== undefined) yield await next;
  }
  for (const loading of ahead) yield await loading;
}
