import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, PartitionOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, rowKeyOf, type Stored } from '../../definition/stored-entity.js';
import { ValueError } from '../../rows/model-error.js';
import { Entities } from '../../table/entities.js';
import { failureOfOne } from '../../table/failure-of-one.js';
import { transaction, type Transaction, type TransactionChange } from '../../table/transaction.js';
import { checkMeasures } from './measures.js';
import { added, deltasOf } from './summary-delta.js';
import type { PartitionViewOptions } from './view-options.js';
import { compareView, rebuildView, type ViewDrift } from './view-audit.js';

/**
 * Counts and totals of the entities of a partition, stored in summary entities of the same
 * partition: a change and its summary are one entity group transaction, so they never differ. Every
 * change of a counted entity must go through the view. All changes of a partition update its
 * summary, which bounds their rate; a sharded counter takes more.
 *
 * A change sends a point read of each affected summary (one; two when the entity moves from one to
 * another) and one transaction; all is repeated after each conflict. A change that affects no
 * measure is one update. When a method throws, nothing was changed, unless the service gave no
 * response.
 */
export class PartitionView<S extends AnyDefinition, V extends AnyDefinition> {
  readonly #options: PartitionViewOptions<S, V>;
  readonly #views: Entities<V>;

  /** Throws `DefinitionError` for measures that the view cannot store. Sends nothing. */
  constructor(options: PartitionViewOptions<S, V>) {
    checkMeasures(options.view, options.measures);
    this.#options = options;
    this.#views = new Entities(options.view, options.table);
  }

  /** One point read. Undefined when nothing was ever counted there. */
  read(key: KeyOf<V>): Promise<Stored<ReadOf<V>> | undefined> {
    return this.#views.get(key);
  }

  /** Inserts an entity and counts it. Throws `EntityExistsError` when its keys are taken. */
  insert(entity: CreateOf<S>): Promise<void> {
    return this.#run(this.inserting(entity));
  }

  /** The insert and the count of an entity, to join a transaction. */
  inserting(entity: CreateOf<S>): TransactionChange {
    const { source } = this.#options;
    const after = codecOf(source).complete(entity);
    return {
      addTo: (writes) => this.#count(writes.insert(source, after), undefined, after),
    };
  }

  /**
   * Replaces an entity that was read, and counts the difference. Throws `ConditionFailedError` or
   * `EntityNotFoundError` when another writer has changed it since.
   */
  async replace(before: Stored<ReadOf<S>>, after: ReadOf<S>): Promise<void> {
    await this.#run(this.replacing(before, after));
  }

  /** The replace and the count of an entity that was read, to join a transaction. */
  replacing(before: Stored<ReadOf<S>>, after: ReadOf<S>): TransactionChange {
    const { source } = this.#options;
    const ifMatch = etagOf(before);
    const [old, next] = [rowKeyOf(before), codecOf(source).toRow(after)];
    if (old.partitionKey !== next.partitionKey || old.rowKey !== next.rowKey) {
      throw new ValueError(`${source.type}: a replace cannot change keys; delete and insert it`);
    }
    return {
      addTo: (writes) => this.#count(writes.replace(source, after, { ifMatch }), before, after),
    };
  }

  /** Deletes an entity that was read, and subtracts it. Throws as `replace`. */
  delete(before: Stored<ReadOf<S>>): Promise<void> {
    return this.#run(this.deleting(before));
  }

  /** The delete and the subtraction of an entity that was read, to join a transaction. */
  deleting(before: Stored<ReadOf<S>>): TransactionChange {
    const { source } = this.#options;
    return {
      addTo: (writes) => this.#count(writes.delete(source, before), before, undefined),
    };
  }

  /**
   * The summaries of a partition that differ from the sums of its entities. Reads the summaries and
   * then the entities: one range read per 1,000 of each. A concurrent change can look like drift.
   */
  verify(partition: PartitionOf<S>): Promise<readonly ViewDrift[]> {
    return compareView(this.#options, this.#partitionKey(partition));
  }

  /**
   * Corrects the summaries of a partition, or makes them if there were none; changes may continue
   * meanwhile. Sends the requests of `verify` until it finds no drift, and for each drift an
   * insert, or a point read and an update. Returns what was corrected. Can be interrupted and
   * repeated at any point.
   */
  rebuild(partition: PartitionOf<S>): Promise<readonly ViewDrift[]> {
    return rebuildView(this.#options, this.#partitionKey(partition));
  }

  #partitionKey(partition: PartitionOf<S>): string {
    return codecOf(this.#options.source).partitionKey(partition);
  }

  /** The first write is that of the entity. */
  async #run(change: TransactionChange): Promise<void> {
    try {
      await transaction(this.#options.table, this.#options).join(change).run();
    } catch (error) {
      throw failureOfOne(error);
    }
  }

  #count(writes: Transaction, before: ReadOf<S> | undefined, after: ReadOf<S> | undefined): void {
    const { view } = this.#options;
    for (const delta of deltasOf(this.#options, before, after)) {
      const next = (current: ReadOf<V> & object) => added(current, delta) as never;
      writes.update(view, delta.key, next, { ifAbsent: () => added<V>(undefined, delta) });
    }
  }
}

/**
 * A view in the partition of its source. Throws `DefinitionError` for measures it cannot store.
 * Sends nothing.
 */
export function partitionViewOf<S extends AnyDefinition, V extends AnyDefinition>(
  options: PartitionViewOptions<S, V>,
): PartitionView<S, V> {
  return new PartitionView(options);
}
