import { isDeepStrictEqual } from 'node:util';
import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CreateOf, KeyOf, OnlyRead, ReadOf } from '../definition/shapes.js';
import { etagOf, plain, rowKeyOf, storedAs, type Stored } from '../definition/stored-entity.js';
import { retryConflicts, type ContentionOptions } from '../table/contention.js';
import { entitiesOf, type Change, type Entities } from '../table/entities.js';
import { ContentionError, EntityNotFoundError } from '../table/errors.js';
import type { TableGateway } from '../table/gateway.js';

/** The source and the target of copies, where the target names its source. */
export interface ReferenceCopyOptions<
  S extends AnyDefinition,
  T extends AnyDefinition,
> extends ContentionOptions {
  /** The type whose properties are copied, such as employees. */
  readonly source: S;
  readonly sourceTable: TableGateway;
  /** The type with the reference and the copies, such as departments with their manager's id. */
  readonly target: T;
  readonly targetTable: TableGateway;
  /** The source that a target refers to; undefined for none. Must be pure. */
  readonly sourceOf: (target: ReadOf<T>) => KeyOf<S> | undefined;
  /**
   * The target with the copies of its source, or without any when it refers to none or to one that
   * does not exist. Must be pure, and change nothing that `sourceOf` uses.
   */
  readonly copy: (target: ReadOf<T>, source: ReadOf<S> | undefined) => ReadOf<T>;
  /**
   * The targets that refer to a source, such as a query by a condition or a look-up in an index.
   * A target that it does not find yet keeps its former copy until it is refreshed itself.
   */
  readonly targetsOf: (source: KeyOf<S>) => AsyncIterable<KeyOf<T>> | Iterable<KeyOf<T>>;
}

type AnyResult<T extends AnyDefinition> = ReadOf<T> | undefined | Promise<ReadOf<T> | undefined>;

/** The outcome for one target. */
export type ReferenceOutcome = 'refreshed' | 'right' | 'gone';

/**
 * Copies of some properties of an entity in those that refer to it: a department names its manager
 * and has the manager's details. Both the reference and the manager may change, in any partitions.
 *
 * Each change of a target reads its source and stores reference and copies in one update; then it
 * looks whether the source has changed meanwhile, and repeats the copies if so. Changes of a source
 * are followed by `refresh`, for which an outbox or the queue-first pattern carries its key.
 */
export class ReferenceCopies<S extends AnyDefinition, T extends AnyDefinition> {
  readonly #options: ReferenceCopyOptions<S, T>;
  readonly #sources: Entities<S>;
  readonly #targets: Entities<T>;

  constructor(options: ReferenceCopyOptions<S, T>) {
    this.#options = options;
    this.#sources = entitiesOf(options.source, options.sourceTable, options);
    this.#targets = entitiesOf(options.target, options.targetTable, options);
  }

  /**
   * Inserts a target with the copies of its source: a point read of the source, an insert, and a
   * point read that checks the source. Throws `EntityExistsError` when its keys are taken.
   */
  async insert(target: CreateOf<T>): Promise<Stored<ReadOf<T>>> {
    const codec = codecOf(this.#options.target);
    const given = codec.fromRow({ ...codec.toRow(target), etag: '', timestamp: 0n });
    const { copied, etag } = await this.#copied(given);
    const values: Record<string, unknown> = plain(copied);
    const inserted = await this.#targets.insert(values as CreateOf<T>);
    if (await this.#isCurrent(inserted, etag)) return inserted;
    const { stored } = await this.#settle(codec.parseKey(rowKeyOf(inserted)), (current) => current);
    return stored;
  }

  /**
   * Changes a target, perhaps its reference, together with its copies. Sends a point read of the
   * target and of its source, an update, and a point read that checks the source; all is repeated
   * after a conflict. Throws `EntityNotFoundError` when there is no target.
   */
  async update<R extends ReadOf<T>>(
    key: KeyOf<T>,
    change: Change<T, R>,
  ): Promise<Stored<ReadOf<T>>> {
    const { stored } = await this.#settle(key, change);
    return stored;
  }

  /** Makes the copies of one target match its source. Requests as `update`; no write if they do. */
  async refreshTarget(key: KeyOf<T>): Promise<ReferenceOutcome> {
    try {
      const { isWritten } = await this.#settle(key, (current) => current);
      return isWritten ? 'refreshed' : 'right';
    } catch (error) {
      if (error instanceof EntityNotFoundError) return 'gone';
      throw error;
    }
  }

  /**
   * Makes the copies in all targets of a source match it, whether it still exists or not. Sends the
   * requests of `targetsOf`, and of `refreshTarget` for each. Idempotent; calls may come in any
   * order, repeatedly and concurrently. Returns the number of targets that were written.
   */
  async refresh(source: KeyOf<S>): Promise<number> {
    let written = 0;
    for await (const key of this.#options.targetsOf(source)) {
      if ((await this.refreshTarget(key)) === 'refreshed') written += 1;
    }
    return written;
  }

  /** Whether the copies of a target match its source; true when there is no target. Two reads. */
  async isRight(key: KeyOf<T>): Promise<boolean> {
    const current = await this.#targets.get(key);
    if (current === undefined) return true;
    const { copied } = await this.#copied(current);
    return this.#isSame(current, copied);
  }

  async #settle(
    key: KeyOf<T>,
    change: (current: Stored<ReadOf<T>>) => AnyResult<T>,
  ): Promise<{ readonly stored: Stored<ReadOf<T>>; readonly isWritten: boolean }> {
    let isChanged = false;
    let isWritten = false;
    const attempt = async () => {
      let etag: string | undefined;
      const stored = await this.#targets.update(key, async (current) => {
        const found = await this.#copied(
          (isChanged ? undefined : await change(current)) ?? current,
        );
        ({ etag } = found);
        if (this.#isSame(current, found.copied)) return undefined;
        isWritten = true;
        return found.copied as OnlyRead<T, ReadOf<T>>;
      });
      isChanged = true;
      if (await this.#isCurrent(stored, etag)) return { stored, isWritten };
      throw new ContentionError('the source was changed while its copies were stored');
    };
    return retryConflicts(
      this.#options.target.type,
      this.#options,
      attempt,
      (error) => error instanceof ContentionError && isChanged,
    );
  }

  /** The target with the copies of its source, and the ETag that the source had. */
  async #copied(
    target: ReadOf<T>,
  ): Promise<{ readonly copied: ReadOf<T>; readonly etag: string | undefined }> {
    const { sourceOf, copy } = this.#options;
    const reference = sourceOf(target);
    const source = reference === undefined ? undefined : await this.#sources.get(reference);
    const etag = source === undefined ? undefined : etagOf(source);
    return { copied: copy(target, source), etag };
  }

  async #isCurrent(target: ReadOf<T>, etag: string | undefined): Promise<boolean> {
    const reference = this.#options.sourceOf(target);
    if (reference === undefined) return true;
    const now = await this.#sources.get(reference, { select: [] });
    return (now === undefined ? undefined : etagOf(now)) === etag;
  }

  #isSame(current: Stored<ReadOf<T>>, next: ReadOf<T>): boolean {
    const { target } = this.#options;
    const codec = codecOf(target);
    const before = codec.toRow(current).properties;
    const after = codec.toRow({ ...next, [storedAs]: current[storedAs] }).properties;
    return isDeepStrictEqual(before, after);
  }
}

/** Copies of a source's properties in the entities that refer to it. Sends nothing. */
export function referenceCopiesOf<S extends AnyDefinition, T extends AnyDefinition>(
  options: ReferenceCopyOptions<S, T>,
): ReferenceCopies<S, T> {
  return new ReferenceCopies(options);
}
