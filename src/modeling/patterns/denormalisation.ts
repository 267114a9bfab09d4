import { isDeepStrictEqual } from 'node:util';
import { own } from '../../base/own.js';
import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { KeyOf, MergeOf, ReadOf } from '../definition/shapes.js';
import { etagOf } from '../definition/stored-entity.js';
import type { RowProperties } from '../rows/row.js';
import { retryConflicts, type ContentionOptions } from '../table/contention.js';
import { Entities } from '../table/entities.js';
import { ContentionError, TransactionFailedError } from '../table/errors.js';
import { writeIfPresent } from '../table/write-if-present.js';
import type { TableGateway } from '../table/gateway.js';
import { transaction } from '../table/transaction.js';

/** What is copied into what. */
export interface CopyOptions<
  S extends AnyDefinition,
  T extends AnyDefinition,
> extends ContentionOptions {
  /** Whose properties are copied, such as the employees who are managers. */
  readonly source: S;
  readonly sourceTable: TableGateway;
  /** Which hold the copies, such as departments. */
  readonly target: T;
  readonly targetTable: TableGateway;
  /** The entities that hold copies of this one; the same for every state of it. Pure. */
  readonly targetsOf: (source: ReadOf<S>) => readonly KeyOf<T>[];
  /** The copied properties. Pure. */
  readonly copy: (source: ReadOf<S>) => MergeOf<T>;
}

/** `gone`: there is no such source entity, and nothing was changed. */
export type RefreshOutcome = 'refreshed' | 'gone';

/** A copy that is not as its source says. */
export interface CopyDrift<T extends AnyDefinition> {
  readonly target: KeyOf<T>;
  /** The stored properties as they should be. */
  readonly expected: RowProperties;
}

/**
 * Copies of some properties of an entity in others, so that one point read finds all of it: a
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
   * Replaces a source that was read, and all its copies, in one transaction and without a read: for
   * copies in the same partition of the same table, at most 99. Throws `ConditionFailedError` when
   * somebody else has changed the source since, `EntityNotFoundError` when the source or an entity
   * that should hold a copy is not there; then nothing has changed.
   */
  async replace(source: ReadOf<S>, ifMatch = etagOf(source)): Promise<void> {
    const { copy, targetsOf, target, sourceTable } = this.#options;
    const writes = transaction(sourceTable).replace(this.#options.source, source, { ifMatch });
    for (const key of targetsOf(source)) {
      writes.merge(target, key, copy(source), { ifMatch: 'any' });
    }
    try {
      await writes.run();
    } catch (error) {
      throw error instanceof TransactionFailedError ? error.reason : error;
    }
  }

  /**
   * Brings the copies up to date with the source, wherever they are. A point read of the source, a
   * merge of each copy, and a point read that makes sure that the source has not changed meanwhile;
   * all again when it has. Idempotent; calls for the same source may come in any order, more than
   * once and at the same time: after the last one the copies are right. Entities that should hold a
   * copy and are not there are passed over.
   */
  refresh(sourceKey: KeyOf<S>): Promise<RefreshOutcome> {
    const { source, copy, targetsOf } = this.#options;
    const attempt = async (): Promise<RefreshOutcome> => {
      const before = await this.#sources.get(sourceKey);
      if (before === undefined) return 'gone';
      for (const key of targetsOf(before)) await this.#merge(key, copy(before));
      const after = await this.#sources.get(sourceKey);
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
   * The copies of a source that are not as it says; `refresh` corrects them. A point read of the
   * source and of each copy. A change meanwhile can look like drift.
   */
  async verify(sourceKey: KeyOf<S>): Promise<readonly CopyDrift<T>[]> {
    const { target, targetTable, targetsOf, copy } = this.#options;
    const source = await this.#sources.get(sourceKey);
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

  async #merge(key: KeyOf<T>, changes: MergeOf<T>): Promise<void> {
    await writeIfPresent(() => this.#targets.merge(key, changes, { ifMatch: 'any' }));
  }
}

/** Copies of a source's properties in other entities. Sends nothing. */
export function denormalise<S extends AnyDefinition, T extends AnyDefinition>(
  options: CopyOptions<S, T>,
): Denormalisation<S, T> {
  return new Denormalisation(options);
}
