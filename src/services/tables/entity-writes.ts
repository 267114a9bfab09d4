import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Store } from '../../kv/store.js';
import { appendString } from '../../kv/tuple.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { overtaken, untilCommitted } from '../containers/until-committed.js';
import {
  checkKeys,
  commitOf,
  failureOf,
  keysOf,
  readsFirst,
  resultOf,
  stageWrite,
  type StagedWrite,
} from './staged-write.js';
import type { WriteOperation, WriteResult } from './types.js';

/** Changes in one entity group transaction (table-service §9.1). */
export const changesMax = 100;

/** Attempts of a write that depends on what it read, against concurrent writers. */
const attemptsMax = 1000;

/** The store and the rules of writes. */
export interface WriteContext {
  readonly store: Store;
  /** Properties of an entity besides the keys and Timestamp. */
  readonly propertiesMax: number;
}

/**
 * Writes one entity of the table with this prefix: one commit, with a read before it only for a
 * merge.
 */
export async function writeEntity(
  { store, propertiesMax }: WriteContext,
  tablePrefix: Bytes,
  operation: WriteOperation,
): Promise<WriteResult> {
  checkKeys(operation);
  const { partitionKey, rowKey } = keysOf(operation);
  const key = appendString(appendString(tablePrefix, partitionKey), rowKey);
  return untilCommitted(attemptsMax, async () => {
    const stored = readsFirst(operation) ? await store.get(key) : undefined;
    const write = stageWrite(operation, { key, stored, propertiesMax });
    const result = await store.commit(commitOf([write]));
    if (result.ok) return resultOf(write, result.version);
    const failure = failureOf(operation, result.actual);
    if (failure !== undefined) throw failure;
    return overtaken;
  });
}

/**
 * Refuses writes that do not form an entity group transaction; needs no store. The error carries
 * the index of the first operation that breaks a rule.
 */
export function checkGroup(operations: readonly WriteOperation[]): void {
  const [first] = operations;
  if (first === undefined) throw new StorageError('InvalidInput');
  if (operations.length > changesMax) {
    throw new StorageError('InvalidInput', {
      message: `The batch request operation exceeds the maximum ${changesMax} changes per change set.`,
      operationIndex: changesMax - 1,
      noCache: true,
    });
  }
  const { partitionKey } = keysOf(first);
  const rowKeys = new Set<string>();
  for (const [operationIndex, operation] of operations.entries()) {
    const keys = keysOf(operation);
    if (keys.partitionKey !== partitionKey) {
      throw new StorageError('CommandsInBatchActOnDifferentPartitions', { operationIndex });
    }
    if (rowKeys.has(keys.rowKey)) throw new StorageError('InvalidDuplicateRow', { operationIndex });
    rowKeys.add(keys.rowKey);
  }
}

/**
 * Writes a checked group in one commit: all or nothing, one version for all, results in order. The
 * failure is that of the first operation whose condition fails, with its index.
 */
export async function writeGroup(
  context: WriteContext,
  tablePrefix: Bytes,
  operations: readonly WriteOperation[],
): Promise<readonly WriteResult[]> {
  const keys = groupKeys(tablePrefix, operations);
  let writes: readonly StagedWrite[] = [];
  return untilCommitted(attemptsMax, async () => {
    writes = await stageGroup(context, operations, keys, writes);
    const result = await context.store.commit(commitOf(writes));
    if (result.ok) return writes.map((write) => resultOf(write, result.version));
    const operationIndex = indexOfCheck(writes, result.failedCheck);
    const failed = writes[operationIndex];
    invariant(failed !== undefined, 'a failed check belongs to an operation');
    const failure = failureOf(failed.operation, result.actual);
    if (failure !== undefined) throw failure.atOperation(operationIndex);
    return overtaken;
  });
}

function groupKeys(tablePrefix: Bytes, operations: readonly WriteOperation[]): Bytes[] {
  let partition: Bytes | undefined;
  return operations.map((operation, index) => {
    attempt(index, () => checkKeys(operation));
    const { partitionKey, rowKey } = keysOf(operation);
    partition ??= appendString(tablePrefix, partitionKey);
    return appendString(partition, rowKey);
  });
}

/** Stages each write. Writes staged before are reused unless they depend on the stored entity. */
async function stageGroup(
  { store, propertiesMax }: WriteContext,
  operations: readonly WriteOperation[],
  keys: readonly Bytes[],
  staged: readonly StagedWrite[],
): Promise<readonly StagedWrite[]> {
  const readKeys = keys.filter((_, index) => {
    const operation = operations[index];
    return operation !== undefined && readsFirst(operation);
  });
  const stored = readKeys.length === 0 ? [] : await store.getMany(readKeys);
  let reads = 0;
  return operations.map((operation, index) => {
    const key = keys[index];
    invariant(key !== undefined, 'each operation has a key');
    if (!readsFirst(operation)) {
      return staged[index] ?? attempt(index, () => stageWrite(operation, { key, propertiesMax }));
    }
    reads += 1;
    const place = { key, stored: stored[reads - 1], propertiesMax };
    return attempt(index, () => stageWrite(operation, place));
  });
}

/** The index of the write that owns check number `failedCheck`. */
function indexOfCheck(writes: readonly StagedWrite[], failedCheck: number): number {
  let checks = 0;
  return writes.findIndex((write) => {
    if (write.check !== undefined) checks += 1;
    return checks > failedCheck;
  });
}

/** Runs a part of one operation; adds the operation's index to its errors. */
function attempt<T>(operationIndex: number, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof StorageError ? error.atOperation(operationIndex) : error;
  }
}
