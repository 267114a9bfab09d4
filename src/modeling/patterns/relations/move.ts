import { systemClock } from '../../../base/clock.js';
import { systemRandomness } from '../../../base/randomness.js';
import { codecOf, type Completed } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, rowKeyOf, type Stored } from '../../definition/stored-entity.js';
import { ModelError } from '../../rows/model-error.js';
import { keyOf } from '../../rows/row-parts.js';
import type { Row, RowKey } from '../../rows/row.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import { isConflict, isConflictBehind, retryConflicts } from '../../table/contention.js';
import {
  EntityExistsError,
  EntityNotFoundError,
  isAmbiguous,
  TransactionFailedError,
} from '../../table/errors.js';
import { reasonOf } from '../../table/failure-of-one.js';
import { existingEntityError } from '../../table/refusals.js';
import { writeIfPresent } from '../../table/conditional-write.js';
import { withEncryptedNames } from '../../table/encrypted-names.js';
import type { TableGateway } from '../../table/gateway.js';
import { allRows } from '../../table/all-rows.js';
import { transaction } from '../../table/transaction.js';
import {
  arrivedKey,
  arrivedRange,
  arrivedRow,
  movingKey,
  movingOf,
  movingRange,
  movingRow,
  originOf,
  type Moving,
} from './moving-row.js';
import {
  addCount,
  notFound,
  requireSameParent,
  typeNameOf,
  type OneToManyOptions,
} from './relation.js';

/** The results of finishing interrupted moves. */
export interface FinishedMoves {
  /** Children that were moved to their new partition. */
  readonly finished: number;
  /** Children that still wait, with the reasons. */
  readonly stuck: readonly { readonly child: RowKey; readonly error: ModelError }[];
  /** Marks of finished moves that were removed. */
  readonly marksRemoved: number;
}

/**
 * How long a mark outlives its move. A program that finishes a move after a longer pause could
 * restore a child that was deleted meanwhile.
 */
const markTicks = 864_000_000_000n;

/** See `OneToMany.move`. */
export async function moveChild<P extends AnyDefinition, C extends AnyDefinition>(
  relation: OneToManyOptions<P, C>,
  child: Stored<ReadOf<C>>,
  to: CreateOf<C>,
): Promise<void> {
  const moved = codecOf(relation.child).complete(to);
  requireSameParent(relation, moved);
  const from = rowKeyOf(child);
  if (rowKeyOf(moved).partitionKey === from.partitionKey) return moveWithin(relation, child, moved);
  const row = codecOf(relation.child).toRow(moved);
  const parentKey = codecOf(relation.parent).key(relation.parentOf(moved));
  await refuseImpossible(relation, row, parentKey);
  const { randomness = systemRandomness } = relation;
  const moving: Moving = {
    move: randomness.uuid(),
    child: withEncryptedNames(relation.table, row),
    parentRowKey: parentKey.rowKey,
  };
  await leave(relation, child, moving);
  await arrive(relation, from.partitionKey, moving);
}

/**
 * Checks before anything is changed. A later change of parent or keys interrupts the move, to be
 * finished later.
 */
async function refuseImpossible<P extends AnyDefinition, C extends AnyDefinition>(
  { parent, child, table }: OneToManyOptions<P, C>,
  row: Row,
  parentKey: RowKey,
): Promise<void> {
  if ((await table.get(parentKey, [])) === undefined) {
    throw notFound(parent.type, table.table, parentKey);
  }
  if ((await table.get(row, [])) === undefined) return;
  const request = { table: table.table, operation: 'move', ...keyOf(row) };
  throw existingEntityError(child.type, row, request);
}

/** One transaction: the child under its new keys, and the counts of both parents. */
async function moveWithin<P extends AnyDefinition, C extends AnyDefinition>(
  relation: OneToManyOptions<P, C>,
  child: Stored<ReadOf<C>>,
  moved: Completed<C>,
): Promise<void> {
  const { parent, child: definition, table, parentOf } = relation;
  const parents = codecOf(parent);
  const isSameParent = parents.key(parentOf(child)).rowKey === parents.key(parentOf(moved)).rowKey;
  const isSameKey = rowKeyOf(moved).rowKey === rowKeyOf(child).rowKey;
  await changeBehind(relation, isSameKey ? 1 : 2, async () => {
    const writes = transaction(table);
    if (isSameKey) writes.replace(definition, moved, { ifMatch: etagOf(child) });
    else writes.delete(definition, child).insert(definition, moved);
    if (!isSameParent) {
      await addCount(relation, writes, parentOf(child), -1);
      await addCount(relation, writes, parentOf(moved), 1);
    }
    await writes.run();
  });
}

/** Deletes the child from its partition, which keeps it as a moving row. One transaction. */
async function leave<P extends AnyDefinition, C extends AnyDefinition>(
  relation: OneToManyOptions<P, C>,
  child: Stored<ReadOf<C>>,
  moving: Moving,
): Promise<void> {
  const { child: definition, table, parentOf } = relation;
  const { partitionKey } = rowKeyOf(child);
  const row = movingRow(partitionKey, moving, typeNameOf(definition));
  await changeBehind(relation, 2, async () => {
    const writes = transaction(table).delete(definition, child).add({ kind: 'insert', row });
    await addCount(relation, writes, parentOf(child), -1);
    await writes.run();
  });
}

/** Inserts a moving child into its new partition. Any program can repeat this. */
async function arrive<P extends AnyDefinition, C extends AnyDefinition>(
  relation: OneToManyOptions<P, C>,
  from: string,
  { move, child, parentRowKey }: Moving,
): Promise<void> {
  const { parent, child: definition, table } = relation;
  const { partitionKey } = child;
  const codec = codecOf(definition);
  const parentKey = codecOf(parent).parseKey({ partitionKey, rowKey: parentRowKey });
  const row = codec.toRow(codec.fromRow({ ...child, etag: '', timestamp: 0n }));
  try {
    await changeBehind(relation, 2, async () => {
      const writes = transaction(table)
        .add({
          kind: 'insert',
          row: arrivedRow({ partitionKey, move, from }, typeNameOf(definition)),
        })
        .add({ kind: 'insert', row });
      await addCount(relation, writes, parentKey, 1);
      await writes.run();
    });
  } catch (error) {
    const isMarked = await hasArrived(table, error, arrivedKey(partitionKey, move));
    if (!isMarked) throw error;
  }
  await deleteIfThere(table, movingKey(from, move));
}

/** True when a failure only means that the child has arrived already. */
async function hasArrived(table: TableGateway, error: unknown, mark: RowKey): Promise<boolean> {
  if (!(error instanceof EntityExistsError)) return false;
  return (await table.get(mark, [])) !== undefined;
}

/**
 * A change whose first `own` writes are the caller's: their conflicts are not retried. Nor is a
 * parent that does not exist.
 */
async function changeBehind<P extends AnyDefinition, C extends AnyDefinition>(
  options: OneToManyOptions<P, C>,
  own: number,
  attempt: () => Promise<void>,
): Promise<void> {
  try {
    const isBehind = isConflictBehind(own);
    await retryConflicts(
      options.child.type,
      options,
      attempt,
      (error) => isBehind(error) && !(reasonOf(error) instanceof EntityNotFoundError),
    );
  } catch (error) {
    throw error instanceof TransactionFailedError && isConflict(error) ? error.reason : error;
  }
}

function deleteIfThere(table: TableGateway, key: RowKey): Promise<boolean> {
  return writeIfPresent(() => table.write({ kind: 'delete', key, etag: '*' }));
}

/** See `OneToMany.finishMoves`. */
export async function finishMoves<P extends AnyDefinition, C extends AnyDefinition>(
  relation: OneToManyOptions<P, C>,
  partitionKey: string,
): Promise<FinishedMoves> {
  const { table, child } = relation;
  let finished = 0;
  const stuck: { child: RowKey; error: ModelError }[] = [];
  for await (const row of allRows(table, { partitionKey, rowKey: movingRange })) {
    const moving = movingOf(row, typeNameOf(child));
    if (moving === undefined) continue;
    try {
      await arrive(relation, partitionKey, moving);
      finished += 1;
    } catch (error) {
      if (!(error instanceof ModelError) || isAmbiguous(error)) throw error;
      const { partitionKey, rowKey } = moving.child;
      stuck.push({ child: { partitionKey, rowKey }, error });
    }
  }
  return { finished, stuck, marksRemoved: await removeMarks(relation, partitionKey) };
}

/** Removes old marks of finished moves. */
async function removeMarks<P extends AnyDefinition, C extends AnyDefinition>(
  { table, child, clock = systemClock }: OneToManyOptions<P, C>,
  partitionKey: string,
): Promise<number> {
  const oldest = ticksOfMicros(clock.nowMicros()) - markTicks;
  let removed = 0;
  for await (const mark of allRows(table, { partitionKey, rowKey: arrivedRange })) {
    const origin = originOf(mark, typeNameOf(child));
    if (origin === undefined || mark.timestamp > oldest) continue;
    if ((await table.get(origin, [])) !== undefined) continue;
    if (await deleteIfThere(table, mark)) removed += 1;
  }
  return removed;
}
