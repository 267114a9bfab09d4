import type { AnyDefinition } from '../../definition/entity-definition.js';
import { plain } from '../../definition/stored-entity.js';
import type { CreateOf, KeyOf, PartitionOf, ReadOf } from '../../definition/shapes.js';
import type { TableGateway } from '../../table/gateway.js';
import type { SpreadEntities, Unspread } from '../spread-keys.js';
import type { ReKeyingOptions } from './re-keying.js';

/** The parts of a move's options that these functions provide. */
type ProvidedOptions<O extends AnyDefinition, N extends AnyDefinition, A> = Pick<
  ReKeyingOptions<O, N, A>,
  'from' | 'to' | 'keys' | 'forward' | 'backward'
>;

/**
 * Moves spread entities to another number of buckets, in another table: more when a bucket gets too
 * much traffic, fewer when reading all of them costs too much. Sends nothing.
 */
export function rebucketed<D extends AnyDefinition, B extends keyof PartitionOf<D> & string>(
  from: SpreadEntities<D, B>,
  to: SpreadEntities<D, B>,
): ProvidedOptions<D, D, Unspread<KeyOf<D>, B>> {
  return {
    from: from.entities,
    to: to.entities,
    keys: (address) => ({ old: from.key(address), new: to.key(address) }),
    forward: (old) => to.entity(old),
    backward: (entity) => from.entity(entity),
  };
}

/** Moves entities under unchanged keys to another table, of any account. Sends nothing. */
export function relocated<D extends AnyDefinition>(
  definition: D,
  from: TableGateway,
  to: TableGateway,
): ProvidedOptions<D, D, KeyOf<D>> {
  const same = (entity: ReadOf<D>): CreateOf<D> => plain(entity) as object as CreateOf<D>;
  return {
    from: { definition, table: from },
    to: { definition, table: to },
    keys: (key) => ({ old: key, new: key }),
    forward: same,
    backward: same,
  };
}
