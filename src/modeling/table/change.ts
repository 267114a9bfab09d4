import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CreateOf, OnlyRead, ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import type { Turn } from './turn.js';

/** The options of `Entities.update`. */
export interface UpdateOptions<D extends AnyDefinition> {
  /** How often the function may run; 64 when absent. */
  readonly attemptsMax?: number;
  /** Makes the entity to insert when there is none. Without it, an absent entity is an error. */
  readonly ifAbsent?: () => CreateOf<D> | Promise<CreateOf<D>>;
  /** The turn of the change that this update is made in. */
  readonly within?: Turn;
}

/** Makes the new entity of the current one; undefined leaves it unchanged. */
export type AnyChange<D extends AnyDefinition> = (
  current: Stored<ReadOf<D>>,
  turn: Turn,
) => ReadOf<D> | undefined | Promise<ReadOf<D> | undefined>;

/** As `Change`; updates of other rows that it awaits take its `turn` as `within`. */
export type ChangeInTurn<D extends AnyDefinition, R extends ReadOf<D>> = (
  current: Stored<ReadOf<D>>,
  turn: Turn,
) => ReturnType<Change<D, R>>;

/** A change whose result has no names that the definition does not declare. */
export type Change<D extends AnyDefinition, R extends ReadOf<D>> = (
  current: Stored<ReadOf<D>>,
) => OnlyRead<D, R> | undefined | Promise<OnlyRead<D, R> | undefined>;
