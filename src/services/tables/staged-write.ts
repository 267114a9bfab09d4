import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import type { CommitBatch, Entry } from '../../kv/store.js';
import { mergedBag, sortedBag } from '../../model/bag/bag-order.js';
import type { EntityInput } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { areKeysPossible, checkEntity, checkNames, checkNewKeys } from './limits.js';
import type { Condition, WriteOperation, WriteResult } from './types.js';

/** The effect of a write on the store, ready to commit. */
export interface StagedWrite {
  readonly operation: WriteOperation;
  readonly key: Bytes;
  /** The check of the key; absent when the write is unconditional. */
  readonly check: number | 'absent' | 'present' | undefined;
  /** The bag to store; absent for a delete. */
  readonly bag: Bytes | undefined;
}

/** A version that no entry has, so a check of it always fails and returns the actual version. */
const noVersion = 0;

/** True when a write depends on the stored entity and must be staged again after a conflict. */
export function readsFirst(operation: WriteOperation): boolean {
  return operation.kind === 'merge' || operation.kind === 'insert-or-merge';
}

export interface EntityKeys {
  readonly partitionKey: string;
  readonly rowKey: string;
}

export function keysOf(operation: WriteOperation): EntityKeys {
  return operation.kind === 'delete' ? operation : operation.entity;
}

/**
 * Refuses keys that cannot be stored: a write that would create an entity gets the code of the
 * broken rule, one that needs an existing entity gets not-found (table-service §2.3).
 */
export function checkKeys(operation: WriteOperation): void {
  const { partitionKey, rowKey } = keysOf(operation);
  switch (operation.kind) {
    case 'insert':
    case 'insert-or-replace':
    case 'insert-or-merge':
      checkNewKeys(partitionKey, rowKey);
      return;
    case 'replace':
    case 'merge':
    case 'delete':
      if (!areKeysPossible(partitionKey, rowKey)) throw new StorageError('ResourceNotFound');
  }
}

/** The target of a write. */
export interface WriteTarget {
  readonly key: Bytes;
  /** The entry read at the key; only needed when `readsFirst`. */
  readonly stored?: Entry | undefined;
  /** The maximum number of properties of an entity. */
  readonly propertiesMax: number;
}

export function stageWrite(
  operation: WriteOperation,
  { key, stored, propertiesMax }: WriteTarget,
): StagedWrite {
  switch (operation.kind) {
    case 'insert': {
      const bag = checkedBag(operation.entity, propertiesMax);
      return { operation, key, check: 'absent', bag };
    }
    case 'insert-or-replace': {
      const bag = sortedBag(checkedBag(operation.entity, propertiesMax));
      return { operation, key, check: undefined, bag };
    }
    case 'replace': {
      const bag = sortedBag(checkedBag(operation.entity, propertiesMax));
      return { operation, key, check: checkOf(operation.condition), bag };
    }
    case 'delete':
      return { operation, key, check: checkOf(operation.condition), bag: undefined };
    case 'merge': {
      const bag = mergedOrSorted(operation.entity, stored, propertiesMax);
      const matches = stored !== undefined && allows(operation.condition, stored.version);
      return { operation, key, check: matches ? stored.version : noVersion, bag };
    }
    case 'insert-or-merge': {
      const bag = mergedOrSorted(operation.entity, stored, propertiesMax);
      return { operation, key, check: stored?.version ?? 'absent', bag };
    }
    default:
      return unreachable(operation);
  }
}

function checkedBag(entity: EntityInput, propertiesMax: number): Bytes {
  checkEntity(entity, propertiesMax);
  return entity.properties.bag;
}

function mergedOrSorted(
  entity: EntityInput,
  stored: Entry | undefined,
  propertiesMax: number,
): Bytes {
  if (stored === undefined) return sortedBag(checkedBag(entity, propertiesMax));
  checkNames(entity.properties, propertiesMax);
  const merged = mergedBag(stored.value, entity.properties.bag);
  return checkedBag({ ...entity, properties: merged }, propertiesMax);
}

function checkOf(condition: Condition): number | 'present' {
  switch (condition.kind) {
    case 'any':
      return 'present';
    case 'version':
      return condition.version;
    case 'never':
      return noVersion;
    default:
      return unreachable(condition);
  }
}

function allows(condition: Condition, version: number): boolean {
  return (
    condition.kind === 'any' || (condition.kind === 'version' && condition.version === version)
  );
}

/**
 * The error of a failed check, given the actual version; `undefined` when the write only depended
 * on an entity that has changed, and should be staged again.
 */
export function failureOf(
  operation: WriteOperation,
  actual: number | 'absent',
): StorageError | undefined {
  switch (operation.kind) {
    case 'insert':
      return new StorageError('EntityAlreadyExists');
    case 'replace':
    case 'delete':
      return missingOrChanged(actual);
    case 'merge':
      if (operation.condition.kind === 'any' && actual !== 'absent') return undefined;
      return missingOrChanged(actual);
    case 'insert-or-merge':
    case 'insert-or-replace':
      return undefined;
    default:
      return unreachable(operation);
  }
}

function missingOrChanged(actual: number | 'absent'): StorageError {
  return new StorageError(actual === 'absent' ? 'ResourceNotFound' : 'UpdateConditionNotSatisfied');
}

/** One commit for all writes. Check `n` belongs to the `n`th write that has one. */
export function commitOf(writes: readonly StagedWrite[]): CommitBatch {
  const checks: { key: Bytes; version: number | 'absent' | 'present' }[] = [];
  const puts: { key: Bytes; value: Bytes }[] = [];
  const deletes: Bytes[] = [];
  for (const { key, check, bag } of writes) {
    if (check !== undefined) checks.push({ key, version: check });
    if (bag === undefined) deletes.push(key);
    else puts.push({ key, value: bag });
  }
  return { checks, puts, deletes, grows: puts.length > 0 };
}

/** The result of a committed write. */
export function resultOf({ operation, bag }: StagedWrite, version: number): WriteResult {
  if (bag === undefined) return undefined;
  const { partitionKey, rowKey } = keysOf(operation);
  return { partitionKey, rowKey, version, bag };
}
