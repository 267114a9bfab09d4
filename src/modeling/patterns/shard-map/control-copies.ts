import { sameContent } from '../../rows/same-value.js';
import type { Row, RowKey } from '../../rows/row.js';
import { putOver } from '../../table/conditional-write.js';
import { retryConflicts, type ContentionOptions } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';
import { isTransient } from '../../table/transient.js';
import { MapCopyError } from './shard-errors.js';

// Copies of the control table, such as in other regions. Programs read them while it cannot be
// reached. Nothing is decided by a copy: whoever opens a partition reads the control table.

/**
 * Reads from the first of these tables that can be reached: the control table, then its copies.
 * Throws what the first one has thrown when none can be, and other errors at once.
 */
export async function readReachable<R>(
  tables: readonly TableGateway[],
  read: (table: TableGateway) => Promise<R>,
): Promise<R> {
  let first: { readonly error: unknown } | undefined;
  for (const table of tables) {
    try {
      return await read(table);
    } catch (error) {
      if (!isTransient(error)) throw error;
      first ??= { error };
    }
  }
  throw first?.error;
}

/**
 * Makes a row of a copy what it is in the control table. True when it was another one. The copy is
 * read first and written under its ETag, so that of several programs none brings an older row back.
 * Two point reads, and a write.
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
    if (there !== undefined && sameContent(wanted, there)) return false;
    const row: Row = { partitionKey, rowKey, properties: wanted.properties };
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
