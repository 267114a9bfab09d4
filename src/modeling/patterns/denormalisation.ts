import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CopiedOf, CreateOf, KeyOf, ReadOf } from '../definition/shapes.js';
import { rowKeyOf, plain, storedAs, type Stored } from '../definition/stored-entity.js';
import { ModelError } from '../rows/model-error.js';
import { sameContent } from '../rows/same-value.js';
import { retryConflicts, type ContentionOptions } from '../table/contention.js';
import type { Change } from '../table/change.js';
import { entitiesOf, type Entities } from '../table/entities.js';
import {
  ContentionError,
  EntityNotFoundError,
  isAmbiguous,
  RequestError,
  TableNotFoundError,
} from '../table/errors.js';
import type { TableGateway } from '../table/gateway.js';
import { isTransient } from '../table/transient.js';

/** Which properties of which entities are copied to which others. */
export interface CopyRelation<S extends AnyDefinition, T extends AnyDefinition> {
  /** The type whose properties are copied, such as employees. */
  readonly source: S;
  /** The type with the copies, such as departments that name their manager. */
  readonly target: T;
  /** The source that an entity has copies of; undefined for none. Must be pure. */
  readonly sourceOf: (target: ReadOf<T>) => KeyOf<S> | undefined;
  /**
   * Where copies of a source may be, known by its key, or found by a query or by a look-up in an
   * index. An entity that has another source by `sourceOf`, or does not exist, gets no copy of this
   * one.
   */
  readonly targetsOf: (source: KeyOf<S>) => Iterable<KeyOf<T>> | AsyncIterable<KeyOf<T>>;
  /**
   * The copied properties; without a source, what is to be in their place, under the same names.
   * Must be pure, and give nothing that `sourceOf` uses.
   */
  readonly copy: (source: ReadOf<S> | undefined) => CopiedOf<T>;
}

/** Copies, and where they and their sources are. */
export interface CopyOptions<S extends AnyDefinition, T extends AnyDefinition>
  extends CopyRelation<S, T>, ContentionOptions {
  readonly sourceTable: TableGateway;
  readonly targetTable: TableGateway;
}

type AnyResult<T extends AnyDefinition> = ReadOf<T> | undefined | Promise<ReadOf<T> | undefined>;

/** The outcome for one target. */
export type CopyOutcome = 'refreshed' | 'right' | 'gone';

/** The target with the copies of a source, or of none. */
export function withCopies<S extends AnyDefinition, T extends AnyDefinition>(
  { copy }: CopyRelation<S, T>,
  target: Stored<ReadOf<T>>,
  source: ReadOf<S> | undefined,
): Stored<ReadOf<T>> {
  return { ...target, ...copy(source), [storedAs]: target[storedAs] };
}

/** Whether the target has the copies of a source, or of none. */
export function hasCopies<S extends AnyDefinition, T extends AnyDefinition>(
  relation: CopyRelation<S, T>,
  target: Stored<ReadOf<T>>,
  source: ReadOf<S> | undefined,
): boolean {
  const codec = codecOf(relation.target);
  const copied = withCopies(relation, target, source);
  return sameContent(codec.shownRow(target), codec.shownRow(copied));
}

/** Whether the service refuses each entity of the table: for want of rights, or of the table. */
function concernsTable(error: ModelError): boolean {
  if (error instanceof TableNotFoundError) return true;
  return error instanceof RequestError && (error.status === 401 || error.status === 403);
}

/**
 * The result, or why one entity was refused. Throws errors of the network and of a busy service,
 * which say nothing about the entity, those of a whole table, and those of the program.
 */
export async function unlessRefused<R>(work: () => Promise<R>): Promise<R | ModelError> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ModelError) || isTransient(error) || isAmbiguous(error)) throw error;
    if (concernsTable(error)) throw error;
    return error;
  }
}

/**
 * Copies of some properties of an entity in those that refer to it, so that one point read gets all
 * of it: a department names its manager and has the manager's details. Both the reference and the
 * manager may change, in any partitions and tables. `copies` of a model does by itself, and for
 * every way to write, what here is called.
 *
 * Each change of a target reads its source and stores reference and copies in one update; then it
 * looks whether the source has changed meanwhile, and repeats the copies if so. Changes of a source
 * are followed by `refresh`, for which an outbox or the queue-first pattern carries its key.
 */
export class Copies<S extends AnyDefinition, T extends AnyDefinition> {
  readonly #options: CopyOptions<S, T>;
  readonly #targets: Entities<T>;

  constructor(options: CopyOptions<S, T>) {
    this.#options = options;
    this.#targets = entitiesOf(options.target, options.targetTable, options);
  }

  /**
   * Inserts a target with the copies of its source: a point read of the source, an insert, and a
   * point read that checks the source. Throws `EntityExistsError` when its keys are taken.
   */
  async insert(target: CreateOf<T>): Promise<Stored<ReadOf<T>>> {
    const codec = codecOf(this.#options.target);
    const given = codec.complete(target);
    const { source, etag } = await this.#sourceOf(given);
    const values: Record<string, unknown> = plain(withCopies(this.#options, given, source));
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
  async refreshTarget(key: KeyOf<T>): Promise<CopyOutcome> {
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
   * order, repeatedly and concurrently. Goes on after a target that is refused, such as one without
   * room for the copies, and throws the error of the first after all of them; ends at once at an
   * error of the network or a busy service. Returns the number of targets that were written.
   */
  async refresh(source: KeyOf<S>): Promise<number> {
    let written = 0;
    let refused: ModelError | undefined;
    for await (const key of this.#options.targetsOf(source)) {
      const outcome = await unlessRefused(() => this.refreshTarget(key));
      if (outcome instanceof ModelError) refused ??= outcome;
      else if (outcome === 'refreshed') written += 1;
    }
    if (refused !== undefined) throw refused;
    return written;
  }

  /**
   * What a target that was read should have copied; undefined when it has. One point read of its
   * source, or none when it has no source.
   */
  async drift(target: Stored<ReadOf<T>>): Promise<CopiedOf<T> | undefined> {
    const { source } = await this.#sourceOf(target);
    if (hasCopies(this.#options, target, source)) return undefined;
    return this.#options.copy(source);
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
        const given = (isChanged ? undefined : await change(current)) ?? current;
        const next = { ...given, [storedAs]: current[storedAs] };
        const found = await this.#sourceOf(next);
        ({ etag } = found);
        const copied = withCopies(this.#options, next, found.source);
        if (this.#isSame(current, copied)) return undefined;
        isWritten = true;
        return copied;
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

  /**
   * The source of a target, and the ETag of its row. A row of another type, such as one that marks
   * where a source was, is no source.
   */
  async #sourceOf(
    target: ReadOf<T>,
  ): Promise<{ readonly source: ReadOf<S> | undefined; readonly etag: string | undefined }> {
    const { source, sourceOf, sourceTable } = this.#options;
    const reference = sourceOf(target);
    const codec = codecOf(source);
    const row = reference && (await sourceTable.get(codec.key(reference)));
    return {
      source: row !== undefined && codec.matches(row) ? codec.fromRow(row) : undefined,
      etag: row?.etag,
    };
  }

  async #isCurrent(target: ReadOf<T>, etag: string | undefined): Promise<boolean> {
    const { source, sourceOf, sourceTable } = this.#options;
    const reference = sourceOf(target);
    if (reference === undefined) return true;
    const codec = codecOf(source);
    const now = await sourceTable.get(codec.key(reference), codec.selectOf([]));
    return now?.etag === etag;
  }

  #isSame(current: Stored<ReadOf<T>>, next: Stored<ReadOf<T>>): boolean {
    const codec = codecOf(this.#options.target);
    return sameContent(codec.shownRow(current), codec.shownRow(next));
  }
}

/** Copies of a source's properties in the entities that refer to it. Sends nothing. */
export function copiesOf<S extends AnyDefinition, T extends AnyDefinition>(
  options: CopyOptions<S, T>,
): Copies<S, T> {
  return new Copies(options);
}
