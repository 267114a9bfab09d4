/** Runs the work for every item, `concurrency` at a time; results in the order of the items. */
export async function inOrder<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const iterator = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of iterator) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return results;
}
