import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import type { ContentionOptions } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Measures } from './measures.js';

/** The source and the summary of a view. */
export interface PartitionViewOptions<
  S extends AnyDefinition,
  V extends AnyDefinition,
> extends ContentionOptions {
  /** The entities that are counted. */
  readonly source: S;
  /** The summary. Its measures need defaults, such as `int32().default(0)`. */
  readonly view: V;
  /** The table of both. */
  readonly table: TableGateway;
  /**
   * The summary that counts an entity, in the entity's partition; undefined for none. Must be pure.
   */
  readonly keyOf: (entity: ReadOf<S>) => KeyOf<V> | undefined;
  readonly measures: Measures<S, V>;
}
