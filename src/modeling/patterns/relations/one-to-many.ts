import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, PartitionOf, ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';
import { DefinitionError } from '../../rows/model-error.js';
import { failureOfFirst, retryConflicts } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { ConditionFailedError } from '../../table/errors.js';
import { partitionRows } from '../../table/partition-rows.js';
import { transaction, type TransactionChange } from '../../table/transaction.js';
import { finishMoves, moveChild, type FinishedMoves } from './move.js';
import {
  parentOrThrow,
  requireCounted,
  requireSameParent,
  type OneToManyOptions,
} from './relation.js';

/**
 * Parents and children of different types in one partition, such as a department and its employees.
 * The parent counts its children: each child is inserted and deleted together with a change of the
 * count, in one entity group transaction. A child needs a parent.
 *
 * `add` and `remove` send a point read of the parent and one transaction, and both again after each
 * conflict about the parent. A change that keeps the parent is an ordinary replace or merge of the
 * child.
 */
export class OneToMany<P extends AnyDefinition, C extends AnyDefinition> {
  readonly options: OneToManyOptions<P, C>;
  readonly parents: Entities<P>;
  readonly children: Entities<C>;

  /** Throws `DefinitionError` for unsuitable definitions. Sends nothing. */
  constructor(options: OneToManyOptions<P, C>) {
    const { parent, child, table } = options;
    requireCounted(options);
    this.options = options;
    this.parents = new Entities(parent, table);
    this.children = new Entities(child, table);
  }

  /**
   * Inserts a child. Throws `EntityExistsError` when its keys are taken, `EntityNotFoundError` when
   * it has no parent, `IndexValueTakenError` when another entity has its value in an index of the
   * table, and `TransactionFailedError` for a conflict at any other row; then nothing has changed.
   * Throws `DefinitionError` where the counter of the
   * table counts it in another row than its parent.
   */
  async add(child: CreateOf<C>): Promise<void> {
    await this.#run(this.adding(child));
  }

  /**
   * Deletes a child that was read. Throws `ConditionFailedError` or `EntityNotFoundError` when
   * another writer has changed or deleted it since; then nothing has changed.
   */
  async remove(child: Stored<ReadOf<C>>): Promise<void> {
    await this.#run(this.removing(child));
  }

  /**
   * The insert of a child and the count of its parent, to join a transaction, which is refused
   * without the parent. Where the table counts, it requires the parent, so that a child which the
   * counter does not count needs one as well; another write of the parent may join. Throws
   * `DefinitionError` as `add`.
   */
  adding(child: CreateOf<C>): TransactionChange {
    const { options } = this;
    const added = codecOf(options.child).complete(child);
    const { parent, parentOf, count } = options;
    requireSameParent(options, added);
    return {
      addTo: (writes) => {
        writes.insert(options.child, added);
        if (count === undefined) writes.require(parent, parentOf(added));
        else writes.increment(parent, parentOf(added), count);
      },
    };
  }

  /** The delete of a child that was read and the count of its parent, to join a transaction. */
  removing(child: Stored<ReadOf<C>>): TransactionChange {
    const { child: definition, parent, parentOf, count } = this.options;
    return {
      addTo: (writes) => {
        writes.delete(definition, child);
        if (count !== undefined) writes.increment(parent, parentOf(child), count, -1);
      },
    };
  }

  /**
   * Moves a child that was read to another parent; `to` is the resulting child, whose keys may
   * differ. Resolves when the child has arrived.
   *
   * Within a partition it sends two point reads and one transaction. Between partitions it sends
   * four point reads, a transaction in each and a delete. No transaction spans partitions, so for a
   * while the child cannot be read anywhere; it is never in both. After a crash it waits in the
   * partition that it leaves, until `finishMoves` there completes the move.
   *
   * Throws `EntityNotFoundError` when the new parent does not exist, `EntityExistsError` when the
   * new keys are taken and `ConditionFailedError` when another writer has changed the child since
   * it was read; then nothing has changed.
   */
  move(child: Stored<ReadOf<C>>, to: CreateOf<C>): Promise<void> {
    return moveChild(this.options, child, to);
  }

  /**
   * Finishes interrupted moves out of a partition, and removes the marks of finished moves into it.
   * Sends two range reads, and for each move the requests that `move` has not sent. Run it
   * periodically, or after a crash. Moves that cannot be finished, because the parent is gone or
   * the keys are taken meanwhile, are reported and stay.
   */
  finishMoves(partition: PartitionOf<C>): Promise<FinishedMoves> {
    return finishMoves(this.options, codecOf(this.options.child).partitionKey(partition));
  }

  /**
   * Counts the children of a parent and corrects its count. Sends a point read, one range read per
   * 1,000 rows of the partition and an update of the parent if the count was wrong; starts again
   * when the parent changes meanwhile. Returns the count. Throws `EntityNotFoundError` without a
   * parent, and `DefinitionError` where the table counts: `rebuild` of its model does it.
   */
  async recount(parentKey: KeyOf<P>): Promise<number> {
    const { parent, child, table, parentOf, count } = this.options;
    if (count === undefined) {
      throw new DefinitionError(`the table counts ${child.type}: rebuild its model, or verify it`);
    }
    const codec = codecOf(parent);
    const { partitionKey, rowKey } = codec.key(parentKey);
    const attempt = async (): Promise<number> => {
      const before = await parentOrThrow(this.options, parentKey);
      let children = 0;
      for await (const each of partitionRows(child, table, partitionKey)) {
        if (codec.key(parentOf(each)).rowKey === rowKey) children += 1;
      }
      if (Number(Reflect.get(before, count)) !== children) {
        await this.parents.replace({ ...before, [count]: children });
      }
      return children;
    };
    return retryConflicts(
      parent.type,
      this.options,
      attempt,
      (error) => error instanceof ConditionFailedError,
    );
  }

  async #run(change: TransactionChange): Promise<void> {
    const writes = transaction(this.options.table, this.options).join(change);
    try {
      await writes.run();
    } catch (error) {
      throw failureOfFirst(writes.size, error);
    }
  }
}

/** A one-to-many relation. Throws `DefinitionError` when it cannot work. Sends nothing. */
export function oneToManyOf<P extends AnyDefinition, C extends AnyDefinition>(
  options: OneToManyOptions<P, C>,
): OneToMany<P, C> {
  return new OneToMany(options);
}
