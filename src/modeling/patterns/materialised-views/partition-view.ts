import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, PartitionOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, type Stored } from '../../definition/stored-entity.js';
import { ValueError } from '../../rows/model-error.js';
import { isConflictBehind, retryConflicts } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { failureOfOne } from '../../table/failure-of-one.js';
import { transaction, type Transaction } from '../../table/transaction.js';
import { checkMeasures } from './measures.js';
import { added, deltasOf, type Delta } from './summary-delta.js';
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
  async insert(entity: CreateOf<S>): Promise<void> {
    const { source, table } = this.#options;
    const codec = codecOf(source);
    const after = codec.fromRow({ ...codec.toRow(entity), etag: '', timestamp: 0n });
    await this.#change(undefined, after, () => transaction(table).insert(source, entity));
  }

  /**
   * Replaces an entity that was read, and counts the difference. Throws `ConditionFailedError` or
   * `EntityNotFoundError` when another writer has changed it since.
   */
  async replace(before: Stored<ReadOf<S>>, after: ReadOf<S>): Promise<void> {
    const { source, table } = this.#options;
    const ifMatch = etagOf(before);
    const [old, next] = [codecOf(source).toRow(before), codecOf(source).toRow(after)];
    if (old.partitionKey !== next.partitionKey || old.rowKey !== next.rowKey) {
      throw new ValueError(`${source.type}: a replace cannot change keys; delete and insert it`);
    }
    const begin = () => transaction(table).replace(source, after, { ifMatch });
    await this.#change(before, after, begin);
  }

  /** Deletes an entity that was read, and subtracts it. Throws as `replace`. */
  async delete(before: Stored<ReadOf<S>>): Promise<void> {
    const { source, table } = this.#options;
    await this.#change(before, undefined, () => transaction(table).delete(source, before));
  }

  /**
   * The summaries of a partition that differ from the sums of its entities. Reads the summaries and
   * then the entities: one range read per 1,000 of each. A concurrent change can look like drift.
   */
  async verify(partition: PartitionOf<S>): Promise<readonly ViewDrift[]> {
    const compared = await compareView(this.#options, this.#partitionKey(partition));
    return compared.map(({ key, stored, actual }) => ({ key, stored, actual }));
  }

  /**
   * Corrects the summaries of a partition, or makes them if there were none; changes may continue
   * meanwhile. Sends the requests of `verify` until it finds no drift, and an insert or update for
   * each drift. Returns what was corrected. Can be interrupted and repeated at any point.
   */
  rebuild(partition: PartitionOf<S>): Promise<readonly ViewDrift[]> {
    return rebuildView(this.#options, this.#partitionKey(partition));
  }

  #partitionKey(partition: PartitionOf<S>): string {
    return codecOf(this.#options.source).partitionKey(partition);
  }

  async #change(
    before: ReadOf<S> | undefined,
    after: ReadOf<S> | undefined,
    begin: () => Transaction,
  ): Promise<void> {
    const deltas = deltasOf(this.#options, before, after);
    const attempt = async (): Promise<void> => {
      const writes = begin();
      for (const delta of deltas) await this.#add(writes, delta);
      await writes.run();
    };
    try {
      const { source } = this.#options;
      await retryConflicts(source.type, this.#options, attempt, isConflictBehind(1));
    } catch (error) {
      throw failureOfOne(error);
    }
  }

  async #add(writes: Transaction, delta: Delta<V>): Promise<void> {
    const { view } = this.#options;
    const current = await this.#views.get(delta.key);
    if (current === undefined) writes.insert(view, added(current, delta));
    else writes.replace(view, added(current, delta) as ReadOf<V>, { ifMatch: etagOf(current) });
  }
}

/** A view in the partition of its source. Throws `DefinitionError` for measures it cannot store. Sends nothing. */
export function partitionViewOf<S extends AnyDefinition, V extends AnyDefinition>(
  options: PartitionViewOptions<S, V>,
): PartitionView<S, V> {
  return new PartitionView(options);
}
