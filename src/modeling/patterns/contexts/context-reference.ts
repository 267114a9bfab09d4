import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';

type Values = Readonly<Record<string, unknown>>;

/** A reference from a type to another one, perhaps of another context. */
export interface ContextReference {
  readonly name: string;
  readonly from: AnyDefinition;
  readonly to: AnyDefinition;
  /** The key of the entity that an entity refers to; undefined: it refers to none. */
  readonly keyOf: (entity: object) => Values | undefined;
  /** What to do with an entity whose target is gone; absent: it is only reported. */
  readonly repair?: (entity: object) => Promise<void>;
}

/**
 * Declares a reference. `keyOf` returns the key of the entity that an entity refers to, or
 * undefined. `repair` mends an orphan, such as by deleting it under the ETag that it was read with;
 * it may be called again for the same one. Its conflicts (`isConflict`) leave the orphan for the
 * next check.
 */
export function contextReference<F extends AnyDefinition, T extends AnyDefinition>(
  name: string,
  from: F,
  to: T,
  keyOf: (entity: ReadOf<F>) => KeyOf<T> | undefined,
  repair?: (entity: Stored<ReadOf<F>>) => Promise<void>,
): ContextReference {
  return Object.freeze({
    name,
    from,
    to,
    // The functions are only called with entities of `from`.
    keyOf: keyOf as (entity: object) => Values | undefined,
    ...(repair === undefined ? {} : { repair: repair as (entity: object) => Promise<void> }),
  });
}
