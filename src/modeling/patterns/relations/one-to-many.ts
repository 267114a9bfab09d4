import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { parseKey } from '../../definition/key-template.js';
import type { CreateOf, KeyOf, PartitionOf, ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';
import { DefinitionError } from '../../rows/model-error.js';
import { isConflictBehind, retryConflicts } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { ConditionFailedError, TransactionFailedError } from '../../table/errors.js';
import { partitionRows } from '../../table/partition-rows.js';
import { transaction, type Transaction } from '../../table/transaction.js';
import { finishMoves, moveChild, type FinishedMoves } from './move.js';
import { addCount, parentOrThrow, type OneToManyOptions } from './relation.js';

/**
 * Parents and children of different types in one partition, such as a department and its employees.
 * The parent counts its children: each child comes and goes with a change of the count, in one
 * entity group transaction. A child without a parent cannot be made.
 *
 * Requests of `add` and `remove`: a point read of the parent and one transaction; both again for
 * each other writer of the parent who was faster. Changes of a child that keep its parent need
 * nothing of this: replace or merge it as any entity.
 */
export class OneToMany<P extends AnyDefinition, C extends AnyDefinition> {
  readonly options: OneToManyOptions<P, C>;
  readonly parents: Entities<P>;
  readonly children: Entities<C>;

  /** Sends nothing. Throws `DefinitionError` for definitions that cannot be kept like this. */
  constructor(options: OneToManyOptions<P, C>) {
    const { parent, child, table, count } = options;
    const model = parent.properties[count]?.model;
    if (model?.kind !== 'int32' || !model.flags.has('default')) {
      throw new DefinitionError(`${parent.type}.${count} cannot count: make it int32().default(0)`);
    }
    if (child.system.type === undefined && parseKey(child.rowKey, 'moving_0') !== undefined) {
      throw new DefinitionError(`${child.type} must store its type: its keys do not tell it`);
    }
    this.options = options;
    this.parents = new Entities(parent, table);
    this.children = new Entities(child, table);
  }

  /**
   * Inserts a child. Throws `EntityExistsError` when its keys are taken, `EntityNotFoundError` when
   * it has no parent; then nothing has changed.
   */
  async add(child: CreateOf<C>): Promise<void> {
    const codec = codecOf(this.options.child);
    const added = codec.fromRow({ ...codec.toRow(child), etag: '', timestamp: 0n });
    const parentKey = this.options.parentOf(added);
    await this.#withCount(parentKey, 1, (writes) => writes.insert(this.options.child, child));
  }

  /**
   * Deletes a child that was read. Throws `ConditionFailedError` or `EntityNotFoundError` when
   * somebody else has changed or deleted it since; then nothing has changed.
   */
  async remove(child: Stored<ReadOf<C>>): Promise<void> {
    const parentKey = this.options.parentOf(child);
    await this.#withCount(parentKey, -1, (writes) => writes.delete(this.options.child, child));
  }

  /**
   * Gives a child that was read to another parent; `to` makes the child that it becomes, whose keys
   * may differ. Resolves when the child is there.
   *
   * Within a partition: two point reads and one transaction. Between partitions: four point reads,
   * a transaction in each and a delete. No transaction spans partitions, so for a while the child
   * is nowhere to be read; it is never in both. After a crash it waits in the partition that it
   * leaves, until `finishMoves` there puts it where it goes.
   *
   * Throws, with nothing changed, `EntityNotFoundError` when the new parent is not there,
   * `EntityExistsError` when the new keys are taken and `ConditionFailedError` when somebody else
   * has changed the child since it was read.
   */
  move(child: Stored<ReadOf<C>>, to: CreateOf<C>): Promise<void> {
    return moveChild(this.options, child, to);
  }

  /**
   * Finishes the moves out of a partition that crashes have interrupted, and removes the marks of
   * those into it. Two range reads, and for each move what `move` has left undone. Run it now and
   * then, or after a crash. Moves that cannot be finished, because the parent or the keys are gone
   * or taken meanwhile, are told and stay.
   */
  finishMoves(partition: PartitionOf<C>): Promise<FinishedMoves> {
    return finishMoves(this.options, codecOf(this.options.child).partitionKey(partition));
  }

  /**
   * Counts the children of a parent and corrects what the parent says. A point read, one range read
   * for 1,000 rows of the partition and an update of the parent if it was wrong; all again when
   * children come or go meanwhile. Gives the number. Throws `EntityNotFoundError` without a parent.
   */
  async recount(parentKey: KeyOf<P>): Promise<number> {
    const { parent, child, table, parentOf, count } = this.options;
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

  async #withCount(
    parentKey: KeyOf<P>,
    change: number,
    begin: (writes: Transaction) => Transaction,
  ): Promise<void> {
    const { table, child } = this.options;
    const attempt = async (): Promise<void> => {
      const writes = begin(transaction(table));
      await addCount(this.options, writes, parentKey, change);
      await writes.run();
    };
    try {
      await retryConflicts(child.type, this.options, attempt, isConflictBehind(1));
    } catch (error) {
      throw error instanceof TransactionFailedError && error.index === 0 ? error.reason : error;
    }
  }
}
