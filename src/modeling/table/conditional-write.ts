import type { Row } from '../rows/row.js';
import { isConflict } from './contention.js';
import { EntityExistsError, EntityNotFoundError } from './errors.js';
import type { RowWrite, TableGateway } from './gateway.js';

/** The write of a row over the version that was read; undefined: over nothing. */
export function putOver(row: Row, etag: string | undefined): RowWrite {
  return etag === undefined ? { kind: 'insert', row } : { kind: 'replace', row, etag };
}

/** The result of the attempt; false when it met a conflict. */
export async function unlessConflict(attempt: () => Promise<boolean>): Promise<boolean> {
  try {
    return await attempt();
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

/**
 * One write. False, and nothing was written, when its condition does not hold: an insert met a row,
 * or any other write met none or another version.
 */
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

/** Runs a write of an entity that may be absent. False when it was. */
export async function writeIfPresent(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (error instanceof EntityNotFoundError) return false;
    throw error;
  }
}

/** Runs an insert. Undefined when an entity with its keys exists. */
export async function unlessPresent<T>(insert: () => Promise<T>): Promise<T | undefined> {
  try {
    return await insert();
  } catch (error) {
    if (error instanceof EntityExistsError) return undefined;
    throw error;
  }
}
