import { isDeepStrictEqual } from 'node:util';
import { own } from '../../base/own.js';
import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { KeyOf, MergeOf, ReadOf } from '../definition/shapes.js';
import { etagOf, type Stored } from '../definition/stored-entity.js';
import { ValueError } from '../rows/model-error.js';
import type { RowProperties } from '../rows/row.js';
import { retryConflicts, type ContentionOptions } from '../table/contention.js';
import { Entities } from '../table/entities.js';
import { ContentionError } from '../table/errors.js';
import { writeIfPresent } from '../table/conditional-write.js';
import type { TableGateway } from '../table/gateway.js';
import { transaction } from '../table/transaction.js';
import { reasonOf } from '../table/failure-of-one.js';

/** The source and target of copies. */
export interface CopyOptions<
  S extends AnyDefinition,
  T extends AnyDefinition,
> extends ContentionOptions {
  /** The type whose properties are copied, such as employees who are managers. */
  readonly source: S;
  readonly sourceTable: TableGateway;
  /** The type with the copies, such as departments. */
  readonly target: T;
  readonly targetTable: TableGateway;
  /** The entities with copies of this one; the same for every state of it. Must be pure. */
  readonly targetsOf: (source: ReadOf<S>) => readonly KeyOf<T>[];
  /** The copied properties. Must be pure. */
  readonly copy: (source: ReadOf<S>) => MergeOf<T>;
}

/** `gone`: the source entity does not exist, and nothing was changed. */
export type RefreshOutcome = 'refreshed' | 'gone';

/** A copy that differs from its source. */
export interface CopyDrift<T extends AnyDefinition> {
  readonly target: KeyOf<T>;
  /** The expected stored properties. */
  readonly expected: RowProperties;
}

/**
 * Copies of some properties of an entity in others, so that one point read gets all of it: a
 * department with the details of its manager. Copies in the same partition change with their source
 * in one transaction. Copies elsewhere are refreshed by a worker: let the outbox or the queue-first
 * pattern carry the source's key, and call `refresh` for each message.
 */
export class Denormalisation<S extends AnyDefinition, T extends AnyDefinition> {
  readonly #options: CopyOptions<S, T>;
  readonly #sources: Entities<S>;
  readonly #targets: Entities<T>;

  constructor(options: CopyOptions<S, T>) {
    this.#options = options;
    this.#sources = new Entities(options.source, options.sourceTable);
    this.#targets = new Entities(options.target, options.targetTable);
  }

  /**
   * Replaces a source that was read, and all its copies, in one transaction and without a read, but
   * for a point read of each target whose definition has older versions: for at most 99 copies in
   * the same partition of the same table. Throws `ConditionFailedError` when
   * another writer has changed the source since, `EntityNotFoundError` when the source or an entity
   * with a copy does not exist; then nothing has changed. Throws `ValueError`, and sends nothing,
   * unless `sourceTable` and `targetTable` are one gateway, or when a copy is in another partition.
   */
  async replace(source: ReadOf<S>, ifMatch = etagOf(source)): Promise<void> {
    const { copy, targetsOf, target, sourceTable, targetTable } = this.#options;
    // Two gateways may differ in account or encryption even where the names of the tables agree.
    if (sourceTable !== targetTable) {
      throw new ValueError(
        `the copies in '${targetTable.table}' cannot change in one transaction with their source ` +
          `in '${sourceTable.table}': give the same gateway for both, or replace and refresh()`,
      );
    }
    const writes = transaction(sourceTable).replace(this.#options.source, source, { ifMatch });
    for (const key of targetsOf(source)) {
      if (target.upgradeFrom === undefined) {
        writes.merge(target, key, copy(source), { ifMatch: 'any' });
      } else writes.update(target, key, withCopies<T>(copy(source)));
    }
    try {
      await writes.run();
    } catch (error) {
      throw reasonOf(error);
    }
  }

  /**
   * Updates the copies of a source, wherever they are. Sends a point read of the source, a merge of
   * each copy, and a point read that checks that the source has not changed meanwhile; starts again
   * when it has. Idempotent; calls for the same source may come in any order, repeatedly and
   * concurrently: after the last one the copies are right. Entities that should have a copy and do
   * not exist are skipped.
   */
  refresh(sourceKey: KeyOf<S>): Promise<RefreshOutcome> {
    const { source, copy, targetsOf } = this.#options;
    const attempt = async (): Promise<RefreshOutcome> => {
      const before = await this.#source(sourceKey);
      if (before === undefined) return 'gone';
      for (const key of targetsOf(before)) await this.#merge(key, copy(before));
      const after = await this.#source(sourceKey);
      if (after !== undefined && etagOf(after) !== etagOf(before)) {
        throw new ContentionError(`${source.type} was changed while its copies were refreshed`);
      }
      return 'refreshed';
    };
    return retryConflicts(
      source.type,
      this.#options,
      attempt,
      (error) => error instanceof ContentionError,
    );
  }

  /**
   * The copies that differ from a source; `refresh` corrects them. A point read of the source and
   * of each copy. A concurrent change can look like drift.
   */
  async verify(sourceKey: KeyOf<S>): Promise<readonly CopyDrift<T>[]> {
    const { target, targetTable, targetsOf, copy } = this.#options;
    const source = await this.#source(sourceKey);
    if (source === undefined) return [];
    const drifts: CopyDrift<T>[] = [];
    for (const key of targetsOf(source)) {
      const { properties } = codecOf(target).toMergeRow(key, copy(source));
      const row = await targetTable.get(codecOf(target).key(key));
      const isRight = Object.entries(properties).every(([name, value]) =>
        isDeepStrictEqual(own(row?.properties ?? {}, name), value),
      );
      if (row !== undefined && !isRight) drifts.push({ target: key, expected: properties });
    }
    return drifts;
  }

  /** A row of another type, such as one that marks where the source was, is no source. */
  async #source(key: KeyOf<S>): Promise<Stored<ReadOf<S>> | undefined> {
    const { codec, table } = this.#sources;
    const row = await table.get(codec.key(key));
    return row === undefined ? undefined : codec.fromOwnRow(row);
  }

  async #merge(key: KeyOf<T>, changes: MergeOf<T>): Promise<void> {
    await writeIfPresent(() =>
      this.#options.target.upgradeFrom === undefined
        ? this.#targets.merge(key, changes, { ifMatch: 'any' })
        : this.#targets.update(key, withCopies<T>(changes)),
    );
  }
}

/** A merge would leave an entity of an older version as it is, without what it is upgraded from. */
function withCopies<T extends AnyDefinition>(changes: MergeOf<T>) {
  return (current: ReadOf<T>) => ({ ...current, ...changes }) as never;
}

/** Copies of a source's properties in other entities. Sends nothing. */
export function denormalisationOf<S extends AnyDefinition, T extends AnyDefinition>(
  options: CopyOptions<S, T>,
): Denormalisation<S, T> {
  return new Denormalisation(options);
}
