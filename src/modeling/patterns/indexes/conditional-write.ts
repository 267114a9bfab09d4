import { isConflict } from '../../table/contention.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';

/** The result of the attempt; false when it met a conflict. */
export async function unlessConflict(attempt: () => Promise<boolean>): Promise<boolean> {
  try {
    return await attempt();
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

/** One write. False, and nothing was written, when a row has changed since it was read. */
export function writeIf(table: TableGateway, write: RowWrite): Promise<boolean> {
  return unlessConflict(async () => {
    await table.write(write);
    return true;
  });
}

/** As `writeIf`, for several writes in one transaction; true when there are none. */
export function transactIf(table: TableGateway, writes: readonly RowWrite[]): Promise<boolean> {
  const [first, ...rest] = writes;
  if (first === undefined) return Promise.resolve(true);
  if (rest.length === 0) return writeIf(table, first);
  return unlessConflict(async () => {
    await table.transact(writes);
    return true;
  });
}
