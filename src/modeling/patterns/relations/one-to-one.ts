import { systemClock, type Clock } from '../../../base/clock.js';
import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, PartitionOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, rowKeyOf, timestampOf, type Stored } from '../../definition/stored-entity.js';
import { DecodeError, ValueError } from '../../rows/model-error.js';
import { placeOfKey } from '../../rows/row-parts.js';
import type { RowKey } from '../../rows/row.js';
import { unlessConflict } from '../../table/conditional-write.js';
import { Entities } from '../../table/entities.js';
import { settledSince } from '../../table/grace.js';
import type { TableGateway } from '../../table/gateway.js';
import { partitionRows } from '../../table/partition-rows.js';
import { transaction, type Transaction } from '../../table/transaction.js';
import type { UnreadableRow } from '../../table/unreadable-row.js';
import { failureOfFirst } from '../../table/contention.js';
import { typeNameOf } from './relation.js';

/** The types of a one-to-one relation, and how one is found from the other. */
export interface OneToOneOptions<A extends AnyDefinition, B extends AnyDefinition> {
  /** The entity that is looked for first. */
  readonly main: A;
  readonly mainTable: TableGateway;
  /** The entity that belongs to it: large, or with other readers. */
  readonly detail: B;
  /** The same gateway as `mainTable` where both are to change in one transaction. */
  readonly detailTable: TableGateway;
  /**
   * The detail of an entity: by a convention of keys, or by a key that the entity stores. Undefined
   * when it has none. Must be pure.
   */
  readonly detailOf: (main: ReadOf<A>) => KeyOf<B> | undefined;
  /**
   * The inverse, for `removeOrphans`: by the same convention, or by a key that the detail stores.
   */
  readonly mainOf: (detail: ReadOf<B>) => KeyOf<A>;
  /** For `removeOrphans`; must agree with the service's to far less than `graceMs`. */
  readonly clock?: Clock;
}

/** An entity and its detail. */
export interface Pair<A extends AnyDefinition, B extends AnyDefinition> {
  readonly main: Stored<ReadOf<A>>;
  readonly detail: Stored<ReadOf<B>> | undefined;
}

/** The results of `removeOrphans`. */
export interface RemovedOrphans<B extends AnyDefinition> {
  /** The keys of the details that were deleted. */
  readonly removed: readonly KeyOf<B>[];
  /** Rows that cannot be read: of details, or of the entities of details. Their details stay. */
  readonly unreadable: readonly UnreadableRow[];
}

/**
 * Entities of two types that belong together one to one, in the same partition or in different
 * ones: an employee and a detail that is large, or that has other readers. In one partition of one
 * table, both are inserted and deleted in one transaction. Otherwise the detail is inserted first
 * and deleted last, so that an entity never lacks its detail; a crash can leave a detail without
 * its entity, which `removeOrphans` finds.
 */
export class OneToOne<A extends AnyDefinition, B extends AnyDefinition> {
  readonly mains: Entities<A>;
  readonly details: Entities<B>;
  readonly #options: OneToOneOptions<A, B>;

  constructor(options: OneToOneOptions<A, B>) {
    this.#options = options;
    this.mains = new Entities(options.main, options.mainTable);
    this.details = new Entities(options.detail, options.detailTable);
  }

  /** A point read of the entity and one of its detail. Undefined without the entity. */
  async get(key: KeyOf<A>): Promise<Pair<A, B> | undefined> {
    const main = await this.mains.get(key);
    if (main === undefined) return undefined;
    const detailKey = this.#options.detailOf(main);
    return {
      main,
      detail: detailKey === undefined ? undefined : await this.details.get(detailKey),
    };
  }

  /**
   * Inserts both: one transaction in one partition, otherwise two inserts. Throws
   * `EntityExistsError` when either exists, including a detail that a crash has left: see
   * `removeOrphans`. Outside of one partition, a failure can leave the detail without its entity.
   */
  async insert(main: CreateOf<A>, detail: CreateOf<B>): Promise<void> {
    const { main: mainType, detail: detailType, mainTable } = this.#options;
    const [left, right] = [codecOf(mainType).complete(main), codecOf(detailType).complete(detail)];
    this.#checkPair(left, rowKeyOf(right));
    if (this.#isTogether(rowKeyOf(left), rowKeyOf(right))) {
      await unwrapped(transaction(mainTable).insert(mainType, left).insert(detailType, right));
      return;
    }
    await this.details.insert(right);
    await this.mains.insert(left);
  }

  /**
   * Deletes an entity that was read, and its detail in any version, also one that cannot be read. A
   * point read of the detail's type; then one transaction in one partition, otherwise two deletes.
   * Throws `ConditionFailedError` when another writer has changed the entity since, `DecodeError`
   * when a row of another type has the key of the detail, and `EncryptionError` when a retired
   * client library encrypted the detail and its table does not accept that; then nothing is
   * deleted. When the two are not in one partition, a detail that another program writes after the
   * read found none stays for `removeOrphans`, because it may belong to a new pair.
   */
  async delete(main: Stored<ReadOf<A>>): Promise<void> {
    const { main: mainType, detail: detailType, mainTable, detailOf } = this.#options;
    const key = detailOf(main);
    const left = rowKeyOf(main);
    const right = key === undefined ? undefined : codecOf(detailType).key(key);
    const hasDetail = right !== undefined && (await this.#hasDetail(right));
    if (key === undefined || right === undefined || !this.#isTogether(left, right)) {
      await this.mains.delete(main);
      if (key !== undefined && hasDetail) await this.details.deleteIfExists(key);
      return;
    }
    const writes = transaction(mainTable).delete(mainType, main);
    if (hasDetail) writes.delete(detailType, key, { ifMatch: 'any' });
    await unwrapped(writes);
  }

  /**
   * Deletes the details of a partition whose entity does not exist and that were last written more
   * than `graceMs` ago, an hour when absent: younger ones may belong to an insert in progress. One
   * range read per 1,000 details, a point read for each old one, and a delete for each orphan. Goes
   * on after a row that cannot be read, and reports it.
   */
  async removeOrphans(
    partition: PartitionOf<B>,
    { graceMs }: { readonly graceMs?: number } = {},
  ): Promise<RemovedOrphans<B>> {
    const { detail, detailTable, clock = systemClock } = this.#options;
    const codec = codecOf(detail);
    const isSettled = settledSince(clock, graceMs);
    const removed: KeyOf<B>[] = [];
    const unreadable: UnreadableRow[] = [];
    const report = (row: UnreadableRow) => void unreadable.push(row);
    const details = partitionRows(detail, detailTable, codec.partitionKey(partition), {
      onUnreadable: report,
    });
    for await (const each of details) {
      if (!isSettled(timestampOf(each)?.ticks)) continue;
      if (await this.#hasMain(each, report)) continue;
      const isRemoved = await unlessConflict(() =>
        this.details.deleteIfExists(each, { ifMatch: etagOf(each) }),
      );
      if (isRemoved) removed.push(codec.parseKey(rowKeyOf(each)));
    }
    return { removed, unreadable };
  }

  /** A point read. An entity that cannot be read is there, and reported. */
  async #hasMain(
    detail: Stored<ReadOf<B>>,
    report: (row: UnreadableRow) => void,
  ): Promise<boolean> {
    const { main, mainOf } = this.#options;
    const key = mainOf(detail);
    try {
      return (await this.mains.get(key)) !== undefined;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const { partitionKey, rowKey } = codecOf(main).key(key);
      report({ partitionKey, rowKey, error });
      return true;
    }
  }

  /** One point read of the type alone, so that no other value can keep the detail from deletion. */
  async #hasDetail(key: RowKey): Promise<boolean> {
    const { detail, detailTable } = this.#options;
    const row = await detailTable.get(key, [typeNameOf(detail)]);
    if (row === undefined) return false;
    if (codecOf(detail).matches(row)) return true;
    throw new DecodeError(
      `${detail.type}: ${placeOfKey(key)} has a row of another type, which is not deleted; ` +
        'let `detailOf` name keys that only details have',
    );
  }

  #isTogether(
    left: { readonly partitionKey: string },
    right: { readonly partitionKey: string },
  ): boolean {
    const { mainTable, detailTable } = this.#options;
    // Two gateways may differ in account or encryption even where the names of the tables agree.
    return mainTable === detailTable && left.partitionKey === right.partitionKey;
  }

  #checkPair(main: ReadOf<A>, detail: RowKey): void {
    const { detailOf, detail: type } = this.#options;
    const key = detailOf(main);
    const expected = key === undefined ? undefined : codecOf(type).key(key);
    if (expected?.partitionKey === detail.partitionKey && expected.rowKey === detail.rowKey) return;
    throw new ValueError(`the ${type.type} has other keys than its entity says`);
  }
}

async function unwrapped(writes: Transaction): Promise<void> {
  try {
    await writes.run();
  } catch (error) {
    throw failureOfFirst(writes.size, error);
  }
}

/** A one-to-one relation. Sends nothing. */
export function oneToOneOf<A extends AnyDefinition, B extends AnyDefinition>(
  options: OneToOneOptions<A, B>,
): OneToOne<A, B> {
  return new OneToOne(options);
}
