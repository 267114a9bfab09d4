import { contentOf } from '../../rows/row-parts.js';
import { copyDifference } from '../../rows/same-value.js';
import type { Row, RowKey } from '../../rows/row.js';
import { putOver } from '../../table/conditional-write.js';
import { retryConflicts, type ContentionOptions } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';
import { isTransient } from '../../table/transient.js';
import { MapCopyError } from './shard-errors.js';

// Copies of the control table, such as in other regions. Programs read them while it cannot be
// reached. Copies decide nothing: a program that opens a partition reads the control table.

/**
 * Reads from the control table or, while it cannot be reached, from the first copy that has an
 * answer. Throws the error of the control table when no copy that has one can be reached, and other
 * errors as they are.
 */
export async function readReachable<R>(
  control: TableGateway,
  copies: readonly TableGateway[],
  read: (table: TableGateway) => Promise<R | undefined>,
): Promise<R | undefined> {
  try {
    return await read(control);
  } catch (error) {
    const found = isTransient(error) ? await readCopies(copies, read) : undefined;
    if (found === undefined) throw error;
    return found;
  }
}

/**
 * The row of the first copy that can be reached and has one. A copy that was not written yet has
 * none.
 */
export async function readCopies<R>(
  copies: readonly TableGateway[],
  read: (table: TableGateway) => Promise<R | undefined>,
): Promise<R | undefined> {
  for (const copy of copies) {
    try {
      const found = await read(copy);
      if (found !== undefined) return found;
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
  }
  return undefined;
}

/**
 * Makes a row of a copy equal to that of the control table. Returns whether it differed. Reads the
 * copy first and writes it under that ETag, so that no program overwrites a newer row with an older
 * one. Two point reads, and one write.
 */
export function copyControlRow(
  control: TableGateway,
  copy: TableGateway,
  key: RowKey,
  options: ContentionOptions = {},
): Promise<boolean> {
  const { partitionKey, rowKey } = key;
  const what = `copying ('${partitionKey}', '${rowKey}') to ${copy.table}`;
  return retryConflicts(what, options, async () => {
    const there = await copy.get(key);
    const wanted = await control.get(key);
    if (wanted === undefined) {
      if (there === undefined) return false;
      await copy.write({ kind: 'delete', key: { partitionKey, rowKey }, etag: there.etag });
      return true;
    }
    if (copyDifference(wanted, there) === undefined) return false;
    const row: Row = { partitionKey, rowKey, ...contentOf(wanted) };
    await copy.write(putOver(row, there?.etag));
    return true;
  });
}

/** Does the work for every copy, then throws `MapCopyError` for those where it failed. */
export async function forEachCopy(
  copies: readonly TableGateway[],
  work: (copy: TableGateway) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(copies.map((copy) => work(copy)));
  const failed = results.flatMap((result, index) =>
    result.status === 'rejected' ? [{ table: copies[index]?.table, cause: result.reason }] : [],
  );
  const [first] = failed;
  if (first === undefined) return;
  const tables = failed.map(({ table }) => table).join(', ');
  throw new MapCopyError(`not copied: ${tables}; try again when it can be reached`, {
    cause: first.cause,
  });
}
