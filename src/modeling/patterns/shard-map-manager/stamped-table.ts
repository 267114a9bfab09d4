import { reservedRowKeys } from '../../definition/reserved-keys.js';
import { countIn, storedText, textIn } from '../../rows/row-parts.js';
import type { Row, RowKey, StoredRow } from '../../rows/row.js';
import { allRows } from '../../table/all-rows.js';
import { putOver } from '../../table/conditional-write.js';
import { isConflict, retryConflicts } from '../../table/contention.js';
import { TooLargeError, ValueError } from '../../rows/model-error.js';
import { TransactionFailedError } from '../../table/errors.js';
import { writeInTransaction } from '../../table/failure-of-one.js';
import {
  keyOfWrite,
  transactionWritesMax,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';

/**
 * The row that counts the changes of a partition of reference data: `Version`, Int64, and in a copy
 * `Whole`, Boolean: false while rows are being copied.
 */
export interface Stamp {
  readonly version: bigint;
  readonly isWhole: boolean;
  readonly etag: string;
}

const rowKey = reservedRowKeys.referenceStamp;
const stampType = 'ReferenceStamp';
const typeProperty = 'EntityType';

function isStamp(row: Row): boolean {
  return row.rowKey === rowKey && textIn(row.properties, typeProperty) === stampType;
}

function stampIn({ properties, etag }: StoredRow): Stamp {
  const isWhole = properties['Whole']?.value !== false;
  return { version: countIn(properties, 'Version'), isWhole, etag };
}

/** One point read. */
export async function stampOf(
  table: TableGateway,
  partitionKey: string,
): Promise<Stamp | undefined> {
  const row = await table.get({ partitionKey, rowKey });
  return row !== undefined && isStamp(row) ? stampIn(row) : undefined;
}

/** By partition. A range read for each 1,000. */
export async function stampsOf(table: TableGateway): Promise<ReadonlyMap<string, Stamp>> {
  const stamps = new Map<string, Stamp>();
  const bounds = { from: rowKey, before: `${rowKey}0` };
  for await (const row of allRows(table, { rowKey: bounds })) {
    if (isStamp(row)) stamps.set(row.partitionKey, stampIn(row));
  }
  return stamps;
}

/** The write of a stamp over the one that was read. */
export function stampWrite(
  partitionKey: string,
  version: bigint,
  isWhole: boolean,
  before: string | undefined,
): RowWrite {
  const row: Row = {
    partitionKey,
    rowKey,
    properties: {
      [typeProperty]: storedText(stampType),
      Version: { type: 'Int64', value: version },
      Whole: { type: 'Boolean', value: isWhole },
    },
  };
  return putOver(row, before);
}

/** A table without its stamps. */
export function withoutStamps(table: TableGateway): TableGateway {
  return {
    table: table.table,
    encrypts: table.encrypts,
    storesLargeValues: table.storesLargeValues,
    writesMax: table.writesMax,
    write: (write) => table.write(write),
    transact: (writes) => table.transact(writes),
    get: async (key: RowKey, select?: readonly string[]) =>
      key.rowKey === rowKey ? undefined : table.get(key, select),
    page: async (query: RowQuery): Promise<RowPage> => {
      const { rows, cursor } = await table.page(query);
      const shown = rows.filter((row) => row.rowKey !== rowKey);
      return cursor === undefined ? { rows: shown } : { rows: shown, cursor };
    },
  };
}

/**
 * The table of reference data that programs write: each write is a transaction that raises the
 * stamp of its partition, for one point read more. Writers of a partition follow each other. A
 * transaction has at most 99 writes.
 */
export function stampedTable(table: TableGateway): TableGateway {
  const writesMax = (table.writesMax ?? transactionWritesMax) - 1;
  const transact = async (writes: readonly RowWrite[]): Promise<readonly WriteResult[]> => {
    const [first] = writes;
    if (first === undefined) throw new ValueError('a transaction needs at least one write');
    if (writes.length > writesMax) {
      throw new TooLargeError(`a transaction of reference data holds at most ${writesMax} writes`);
    }
    if (writes.some((write) => keyOfWrite(write).rowKey === rowKey)) {
      throw new ValueError(`the RowKey ${rowKey} belongs to the library`);
    }
    const { partitionKey } = keyOfWrite(first);
    const attempt = async (): Promise<readonly WriteResult[]> => {
      const stamp = await stampOf(table, partitionKey);
      const next = stampWrite(partitionKey, (stamp?.version ?? 0n) + 1n, true, stamp?.etag);
      const [, ...results] = await table.transact([next, ...writes]);
      return results;
    };
    try {
      return await retryConflicts(`writing '${partitionKey}'`, {}, attempt, isOfStamp);
    } catch (error) {
      if (!(error instanceof TransactionFailedError) || error.index === undefined) throw error;
      const { message, index, reason } = error;
      // The stamp is no write of the caller.
      throw new TransactionFailedError(message, index === 0 ? undefined : index - 1, reason);
    }
  };
  return {
    ...withoutStamps(table),
    writesMax,
    transact,
    write: (write) => writeInTransaction({ transact }, write),
  };
}

function isOfStamp(error: unknown): boolean {
  return error instanceof TransactionFailedError && error.index === 0 && isConflict(error);
}
