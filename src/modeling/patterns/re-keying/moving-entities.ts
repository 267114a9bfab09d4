import { sameKey } from '../../rows/row-parts.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { codecOf, type EntityCodec } from '../../definition/codec.js';
import type { CreateOf, KeyOf, MergeOf, ReadOf } from '../../definition/shapes.js';
import { storedAs, type Stored } from '../../definition/stored-entity.js';
import { ValueError, type ModelError } from '../../rows/model-error.js';
import type { Row, RowKey } from '../../rows/row.js';
import {
  absentEntityError,
  changedEntityError,
  existingEntityError,
} from '../../table/refusals.js';
import { etagOrAny, type WriteCondition } from '../../table/row-writes.js';
import { writeIfPresent } from '../../table/conditional-write.js';
import type { StoredControl } from './control-row.js';
import type { Content, MoveKeys, MoveSide } from './move-side.js';
import { planOf, type PhasePlan } from './phase.js';
import type { Decision, MovingRows } from './moving-rows.js';

/** Queries of both sides that select the same entities. */
export interface SideQueries<O extends AnyDefinition, N extends AnyDefinition> {
  readonly old: () => AsyncIterable<Stored<ReadOf<O>>>;
  readonly new: () => AsyncIterable<Stored<ReadOf<N>>>;
}

export interface MovingParts<N extends AnyDefinition, A> {
  readonly definition: N;
  readonly keys: (address: A) => MoveKeys;
  readonly sides: { readonly old: MoveSide; readonly new: MoveSide };
  readonly rows: MovingRows;
  readonly state: StoredControl;
}

/**
 * Entities that are being moved, in the form of the new definition. Every operation works in every
 * phase, and a concurrent handover is no conflict. The ETag of an entity is a text that changes
 * with its content, whichever side it was read from.
 *
 * A write is applied when the owning side has it, and resolves after it was copied.
 */
export class MovingEntities<O extends AnyDefinition, N extends AnyDefinition, A> {
  readonly #parts: MovingParts<N, A>;
  readonly #codec: EntityCodec<N>;

  constructor(parts: MovingParts<N, A>) {
    this.#parts = parts;
    this.#codec = codecOf(parts.definition);
  }

  /** One point read; up to three for an entity that was not handed over yet. */
  async get(address: A): Promise<Stored<ReadOf<N>> | undefined> {
    const { rows, keys } = this.#parts;
    const content = await rows.look(keys(address), await this.#plan());
    return content.entityRow === undefined ? undefined : this.#entity(content.entityRow, content);
  }

  /** Throws `EntityExistsError` when its keys are taken. */
  async insert(entity: CreateOf<N>): Promise<Stored<ReadOf<N>>> {
    const entityRow = this.#codec.toRow(entity);
    const keys = this.#keysOf(entityRow);
    return this.#put(keys, (current) => {
      if (current.entityRow !== undefined) throw this.#refusal(existingEntityError, 'insert', keys);
      return Promise.resolve(entityRow);
    });
  }

  /**
   * Uses the ETag that the entity was read with, or `ifMatch`. Throws `ConditionFailedError` when
   * the stored entity has another ETag, `EntityNotFoundError` when it is gone.
   */
  async replace(entity: ReadOf<N>, condition?: WriteCondition): Promise<Stored<ReadOf<N>>> {
    const entityRow = this.#codec.toRow(entity);
    const keys = this.#keysOf(entityRow);
    const tag = etagOrAny(this.#parts.definition, entity, condition);
    return this.#put(keys, (current) => {
      this.#required('replace', keys, current, tag);
      return Promise.resolve(entityRow);
    });
  }

  /** Changes the given properties. Needs `ifMatch`: an ETag, or `'any'`. Throws as `replace`. */
  async merge(
    address: A,
    changes: MergeOf<N>,
    { ifMatch }: Required<WriteCondition>,
  ): Promise<Stored<ReadOf<N>>> {
    const keys = this.#parts.keys(address);
    return this.#put(keys, (current) => {
      const entityRow = this.#required('merge', keys, current, ifMatch);
      const change = this.#codec.toMergeRow(this.#keyOf(keys.new), changes);
      const merged = {
        ...entityRow,
        properties: { ...entityRow.properties, ...change.properties },
      };
      return Promise.resolve(this.#unmoved(keys, merged));
    });
  }

  /** Stores the entity unconditionally. */
  async upsertReplace(entity: CreateOf<N> | ReadOf<N>): Promise<Stored<ReadOf<N>>> {
    const entityRow = this.#codec.toRow(entity);
    return this.#put(this.#keysOf(entityRow), () => Promise.resolve(entityRow));
  }

  /** Needs `ifMatch`: an ETag, or `'any'`. Throws as `replace`. */
  async delete(address: A, { ifMatch }: Required<WriteCondition>): Promise<void> {
    const keys = this.#parts.keys(address);
    await this.#change(keys, (current) => {
      this.#required('delete', keys, current, ifMatch);
      return Promise.resolve('delete');
    });
  }

  /** False when there was nothing. */
  deleteIfExists(address: A): Promise<boolean> {
    return writeIfPresent(() => this.delete(address, { ifMatch: 'any' }));
  }

  /**
   * Calls `change` with the stored entity and stores the result; starts again after a conflict.
   * `undefined` leaves the entity unchanged. Throws `EntityNotFoundError` when it is absent, unless
   * `ifAbsent` makes one.
   */
  async update(
    address: A,
    change: (current: Stored<ReadOf<N>>) => ReadOf<N> | undefined | Promise<ReadOf<N> | undefined>,
    { ifAbsent }: { readonly ifAbsent?: () => CreateOf<N> | Promise<CreateOf<N>> } = {},
  ): Promise<Stored<ReadOf<N>>> {
    const keys = this.#parts.keys(address);
    return this.#put(keys, async (current) => {
      if (current.entityRow === undefined && ifAbsent !== undefined) {
        return this.#unmoved(keys, this.#codec.toRow(await ifAbsent()));
      }
      const entityRow = this.#required('update', keys, current, 'any');
      const entity = this.#entity(entityRow, current);
      const next = await change(entity);
      if (next === undefined) return 'keep';
      const row = this.#codec.toRow({ ...next, [storedAs]: entity[storedAs] });
      return this.#unmoved(keys, row);
    });
  }

  /**
   * Entities of a query, from the side that queries read in this phase. During handovers, a copy
   * that a crashed writer left outdated is returned as it is. An entity that is too large for the
   * new side is read, by `get` as well, and can be deleted; a change of it that leaves it too large
   * throws `TooLargeError`.
   */
  async *query(queries: SideQueries<O, N>): AsyncGenerator<Stored<ReadOf<N>>, void, undefined> {
    const { sides } = this.#parts;
    const plan = await this.#plan();
    const side = sides[plan.queries];
    const found: AsyncIterable<object> = plan.queries === 'old' ? queries.old() : queries.new();
    for await (const entity of found) {
      const { entityRow, ...content } = side.shownState(side.rowOf(entity)).content;
      if (entityRow !== undefined) yield this.#entity(entityRow, { ...content, entityRow });
    }
  }

  async #put(keys: MoveKeys, decide: Decision): Promise<Stored<ReadOf<N>>> {
    const content = await this.#change(keys, decide);
    if (content.entityRow !== undefined) return this.#entity(content.entityRow, content);
    throw this.#refusal(absentEntityError, 'write', keys);
  }

  #change(keys: MoveKeys, decide: Decision): Promise<Content> {
    return this.#parts.rows.change(keys, (isDoubted) => this.#plan(isDoubted), decide);
  }

  /** The phase decides what to do but not what is safe, which the rows decide. */
  async #plan(isDoubted = false): Promise<PhasePlan> {
    const { state } = this.#parts;
    // A doubting caller needs an answer from a read that begins now.
    const { phase } = isDoubted ? await state.fresh() : await state.known();
    return planOf(phase);
  }

  #required(operation: string, keys: MoveKeys, { entityRow, tag }: Content, ifMatch: string): Row {
    if (entityRow === undefined) throw this.#refusal(absentEntityError, operation, keys);
    if (ifMatch === 'any' || ifMatch === tag) return entityRow;
    throw this.#refusal(changedEntityError, operation, keys);
  }

  #entity(entityRow: Row, { tag, timestamp }: Content): Stored<ReadOf<N>> {
    return this.#codec.fromRow({ ...entityRow, etag: tag, timestamp });
  }

  #keysOf(entityRow: Row): MoveKeys {
    return this.#parts.sides.old.keysOfRow(entityRow);
  }

  #keyOf(key: RowKey): KeyOf<N> {
    return this.#codec.parseKey(key);
  }

  #unmoved(keys: MoveKeys, entityRow: Row): Row {
    const made = this.#keysOf(entityRow);
    if (sameKey(made.old, keys.old) && sameKey(made.new, keys.new)) return entityRow;
    throw new ValueError(
      `${this.#parts.definition.type}: the change would move ('${keys.new.partitionKey}', ` +
        `'${keys.new.rowKey}') to other keys on one of the sides; insert the one, delete the other`,
    );
  }

  #refusal(
    make: typeof absentEntityError | typeof changedEntityError | typeof existingEntityError,
    operation: string,
    keys: MoveKeys,
  ): ModelError {
    const { definition, sides } = this.#parts;
    const request = { table: sides.new.table.table, operation, ...keys.new };
    return make(definition.type, keys.new, request);
  }
}
