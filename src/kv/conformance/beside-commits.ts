import { setImmediate as turn } from 'node:timers/promises';

/**
 * Reads while two writers commit, one commit after the other and each at least one. Ends when the
 * last of their commits has.
 */
export async function besideCommits<Result>(
  commit: () => Promise<unknown>,
  read: () => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const write = async () => {
    do {
      await commit();
      await turn();
    } while (!over.signal.aborted);
  };
  // The read begins first, so that commits come between its parts even where one turn parts them.
  const reading = read();
  const writers = [write(), write()];
  const settled = Promise.allSettled(writers);
  let result: Result;
  try {
    result = await reading;
  } finally {
    over.abort();
    // No write must outlast the test.
    await settled;
  }
  await Promise.all(writers);
  return result;
}
