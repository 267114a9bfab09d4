import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import type { ContentionOptions } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Measures } from './measures.js';

/** What a view sums up, and where it is kept. */
export interface PartitionViewOptions<
  S extends AnyDefinition,
  V extends AnyDefinition,
> extends ContentionOptions {
  /** The entities that are counted. */
  readonly source: S;
  /** The summary. Its measures need defaults, such as `int32().default(0)`. */
  readonly view: V;
  /** Where both live. */
  readonly table: TableGateway;
  /** The summary that an entity counts in, in the entity's partition; undefined: in none. Pure. */
  readonly keyOf: (entity: ReadOf<S>) => KeyOf<V> | undefined;
  readonly measures: Measures<S, V>;
}
