import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CreateOf, OnlyRead, ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import type { UpdateScope } from './update-scope.js';

/** The options of `Entities.update`. */
export interface UpdateOptions<D extends AnyDefinition> {
  /** How often the function may run; 64 when absent. */
  readonly attemptsMax?: number;
  /** Makes the entity to insert when there is none. Without it, an absent entity is an error. */
  readonly ifAbsent?: () => CreateOf<D> | Promise<CreateOf<D>>;
  /** The scope of the change that runs this update. */
  readonly within?: UpdateScope;
}

/** Makes the new entity of the current one; undefined leaves it unchanged. */
export type AnyChange<D extends AnyDefinition> = (
  current: Stored<ReadOf<D>>,
  scope: UpdateScope,
) => ReadOf<D> | undefined | Promise<ReadOf<D> | undefined>;

/** As `Change`; updates of other rows that it awaits take its `scope` as `within`. */
export type ScopedChange<D extends AnyDefinition, R extends ReadOf<D>> = (
  current: Stored<ReadOf<D>>,
  scope: UpdateScope,
) => ReturnType<Change<D, R>>;

/** A change whose result has no names that the definition does not declare. */
export type Change<D extends AnyDefinition, R extends ReadOf<D>> = (
  current: Stored<ReadOf<D>>,
) => OnlyRead<D, R> | undefined | Promise<OnlyRead<D, R> | undefined>;
