import { DecodeError } from '../../rows/model-error.js';
import type { Row } from '../../rows/row.js';
import { rowFromJson, rowToJson } from '../../rows/row-json.js';
import { allRows } from '../../table/all-rows.js';
import { bulk, type BulkOptions } from '../../table/bulk.js';
import type { BulkReport } from '../../table/bulk-result.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { ManagerError } from './manager-errors.js';

/**
 * The rows of a shard as lines of JSON, each with its line feed, with the rows of its map, so that
 * a restored shard can be compared with the map. Rows that change meanwhile are there as they were
 * when they were read: for one moment of all set the shard read-only first. A range read for each
 * 1,000 rows. Throws `ValueError` for a row that the table has decrypted: open it without
 * encryption, and the lines have the row as it is stored.
 */
export async function* backUpShard(table: TableGateway): AsyncGenerator<string, void, undefined> {
  for await (const row of allRows(table, {})) yield `${JSON.stringify(rowToJson(row))}\n`;
}

export interface RestoreOptions extends BulkOptions {
  /** Whether rows that are there are replaced, such as those of a call that was killed. */
  readonly isOver?: boolean;
}

/** Throws `ManagerError` for a table with rows; `instead` says what to do. A range read. */
export async function requireEmpty(
  table: TableGateway,
  instead = 'restore into an empty table',
): Promise<void> {
  for await (const { partitionKey } of allRows(table, {})) {
    throw new ManagerError(`${table.table} has rows, such as of '${partitionKey}'; ${instead}`);
  }
}

/**
 * Writes the lines of a backup into an empty table, of a detached shard; then attach it. Resumed
 * after a crash with `from`, as `bulk`, or with `isOver` from the beginning. Nothing tells whether
 * the last lines are missing: compare `position` of the report. Throws `ManagerError` for a table
 * with rows unless it is resumed, and `DecodeError` with the number of a line that is no row.
 */
export async function restoreShard(
  table: TableGateway,
  lines: Iterable<string> | AsyncIterable<string>,
  options: RestoreOptions = {},
): Promise<BulkReport> {
  const { isOver = false, from = 0 } = options;
  if (!isOver && from === 0) await requireEmpty(table);
  return bulk(table, upsertsOf(rowsIn(lines)), options);
}

async function* upsertsOf(rows: AsyncIterable<Row>): AsyncGenerator<RowWrite, void, undefined> {
  for await (const row of rows) yield { kind: 'upsert-replace', row };
}

/**
 * How many rows the lines are; `onRow` is told after each. Throws `DecodeError` with the number of
 * a line that is no row.
 */
export async function countRows(
  lines: AsyncIterable<string>,
  onRow: (count: number) => void,
): Promise<number> {
  let count = 0;
  for await (const _ of rowsIn(lines)) {
    count += 1;
    onRow(count);
  }
  return count;
}

/** Throws `DecodeError` with the number of a line that is no row. */
export async function* rowsIn(
  lines: Iterable<string> | AsyncIterable<string>,
): AsyncGenerator<Row, void, undefined> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    yield rowOfLine(line, number);
  }
}

function rowOfLine(line: string, number: number): Row {
  try {
    return rowFromJson(JSON.parse(line));
  } catch (error) {
    throw new DecodeError(`line ${number} of the backup is no row`, { cause: error });
  }
}
