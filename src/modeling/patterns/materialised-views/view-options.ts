import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import type { ContentionOptions } from '../../table/contention.js';
import type { Filter, FilterFields } from '../../table/filter.js';
import { satisfies } from '../../table/filter-match.js';
import type { TableGateway } from '../../table/gateway.js';
import { conditionOf, whereFilter } from '../../table/query-plan.js';
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
  /** Only entities that satisfy this condition are counted; all when absent. */
  readonly where?: (properties: FilterFields<S>) => Filter;
  readonly measures: Measures<S, V>;
}

/** A view, and the table of its summaries. */
export interface PlacedViewOptions<
  S extends AnyDefinition,
  V extends AnyDefinition,
> extends PartitionViewOptions<S, V> {
  /** The table of the summaries; that of the entities when absent. */
  readonly viewTable?: TableGateway | undefined;
}

/** The condition of a view as data; undefined when it counts every entity. */
export function countedBy<S extends AnyDefinition, V extends AnyDefinition>({
  source,
  where,
}: Pick<PartitionViewOptions<S, V>, 'source' | 'where'>): RowCondition<S> {
  const conditions = where === undefined ? {} : { where };
  const condition = conditionOf(source, conditions);
  return {
    where: whereFilter(source, conditions),
    counts: (entity) =>
      condition === undefined ||
      satisfies(condition.node, codecOf(source).shownRow(entity).properties),
  };
}

/** Which entities a view counts: for the service, and as the program decides. */
interface RowCondition<S extends AnyDefinition> {
  /** Undefined: all. Selects rows of older versions as well. */
  readonly where: Filter | undefined;
  readonly counts: (entity: ReadOf<S>) => boolean;
}
