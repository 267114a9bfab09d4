import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import {
  openPrefix,
  prefixOf,
  rangeOfPrefix,
  type KeyPrefix,
  type KeyTemplate,
  type KeyValues,
} from '../definition/key-template.js';
import type { PartitionKeyPrefixOf, PartitionOf, RowKeyPrefixOf } from '../definition/shapes.js';
import { ValueError } from '../rows/model-error.js';
import { compareTexts } from '../rows/text-order.js';
import { filterFieldsOf, whereStored, type Filter, type FilterFields } from './filter.js';
import { odataOfSelection, type KeyBounds, type RowSelection } from './row-selection.js';
import type { UnreadableRow } from './unreadable-row.js';

/**
 * How much a query makes the service read, best first. `point`: one row by its keys. `range`: rows
 * of one partition between two RowKeys. `partition-scan`: all rows of a type in one partition, or
 * of the whole partition. `table-scan`: rows of all partitions.
 */
export type PlanClass = 'point' | 'range' | 'partition-scan' | 'table-scan';

/** What a query will send and make the service read, known before it runs. */
export interface QueryPlan {
  /** For several partitions, the class of each. */
  readonly class: PlanClass;
  /** The selections to read: one for each partition, or that of a table scan. */
  readonly reads: readonly RowSelection[];
  /** The same as OData, as it is sent. */
  readonly filters: readonly string[];
  /** Stored names to read; all when undefined. */
  readonly select: readonly string[] | undefined;
  /** The least number of requests. Each page of 1,000 rows, 4 MiB or 5 seconds is another. */
  readonly requestsMin: number;
}

/** Selects rows of a partition by the leading values of their RowKeys. */
export interface RowKeyBounds<D extends AnyDefinition> {
  /** RowKeys that begin with these values. Cannot be combined with the bounds below. */
  readonly prefix?: RowKeyPrefixOf<D>;
  /** The beginning of the next value, which is a text; after `prefix`, if given. */
  readonly startsWith?: string;
  /**
   * The lower bound, including RowKeys with these leading values. Bounds follow the order of
   * RowKeys, which is that of the values when the parts before the last one given have a fixed
   * width.
   */
  readonly rowKeyFrom?: RowKeyPrefixOf<D>;
  /** The upper bound, including RowKeys with these leading values. */
  readonly rowKeyTo?: RowKeyPrefixOf<D>;
  /** The upper bound, excluding RowKeys with these leading values. */
  readonly rowKeyBefore?: RowKeyPrefixOf<D>;
}

/** Conditions on the rows that the keys select. */
export interface RowConditions<D extends AnyDefinition> {
  /**
   * A condition on stored properties. The service evaluates it on every row that the keys select:
   * it reduces what is returned, not what is read. It agrees with the results of reads: a default
   * counts where a row lacks the property, and rows of older versions are all returned by the
   * service and checked after their upgrade.
   */
  readonly where?: (properties: FilterFields<D>) => Filter;
  /**
   * Called for each row of the type that cannot be read: it has a newer version, lacks a required
   * property, or has a value of another form. Such rows are then left out of the results; without
   * this function the first one fails the query.
   */
  readonly onUnreadable?: (row: UnreadableRow) => void;
}

/** The rows of one partition. */
export interface PartitionQuery<D extends AnyDefinition> extends RowKeyBounds<D>, RowConditions<D> {
  readonly partition: PartitionOf<D>;
}

/** The rows of several partitions. */
export interface PartitionsQuery<D extends AnyDefinition>
  extends RowKeyBounds<D>, RowConditions<D> {
  readonly partitions: readonly PartitionOf<D>[];
}

/** Rows of all partitions, or of a range of them. */
export interface TableScan<D extends AnyDefinition> extends RowConditions<D> {
  /** PartitionKeys that begin with these values. Cannot be combined with the bounds below. */
  readonly partitionPrefix?: PartitionKeyPrefixOf<D>;
  /**
   * The lower bound, including PartitionKeys with these leading values. Bounds follow the order of
   * keys, as those of RowKeys do.
   */
  readonly partitionFrom?: PartitionKeyPrefixOf<D>;
  /** The upper bound, including PartitionKeys with these leading values. */
  readonly partitionTo?: PartitionKeyPrefixOf<D>;
  /** The upper bound, excluding PartitionKeys with these leading values. */
  readonly partitionBefore?: PartitionKeyPrefixOf<D>;
}

/** The keys to read, and how selective they are. */
interface PlannedKeys {
  /** All when undefined. */
  readonly keys: string | KeyBounds | undefined;
  readonly class: 'point' | 'range' | 'partition-scan';
}

/** The keys with a prefix; all when undefined. */
export function keysOfPrefix(prefix: KeyPrefix): string | KeyBounds | undefined {
  return prefix.isWhole && !prefix.isOpen ? prefix.text : rangeOfPrefix(prefix);
}

function prefixBounds(
  template: KeyTemplate,
  values: object,
  startsWith: string | undefined,
): PlannedKeys {
  const whole = prefixOf(template, values as KeyValues);
  const prefix = startsWith === undefined ? whole : openPrefix(template, whole, startsWith);
  const isPoint = prefix.isWhole && !prefix.isOpen;
  const isBounded = prefix.count > 0 || prefix.isOpen;
  return {
    keys: keysOfPrefix(prefix),
    class: isPoint ? 'point' : isBounded ? 'range' : 'partition-scan',
  };
}

/** The leading values of the keys at the ends of a range. */
interface KeyEnds {
  readonly from: unknown;
  readonly to: unknown;
  readonly before: unknown;
}

function boundsOf(template: KeyTemplate, { from, to, before }: KeyEnds): KeyBounds {
  const { bound } = prefixOf(template, (from ?? {}) as KeyValues);
  const last = to === undefined ? undefined : prefixOf(template, to as KeyValues);
  const isWhole = last?.isWhole === true;
  const ends = before === undefined ? [] : [prefixOf(template, before as KeyValues).bound];
  if (!isWhole && (last !== undefined || before === undefined)) {
    const end = rangeOfPrefix(last ?? prefixOf(template, {}))?.before;
    if (end !== undefined) ends.push(end);
  }
  return {
    from: bound === '' ? undefined : bound,
    before: ends.sort(compareTexts)[0],
    to: isWhole ? last.text : undefined,
  };
}

function rowKeyBounds<D extends AnyDefinition>(
  { type, rowKey }: AnyDefinition,
  bounds: RowKeyBounds<D>,
): PlannedKeys {
  const { prefix, startsWith, rowKeyFrom, rowKeyTo, rowKeyBefore } = bounds;
  const hasRange = [rowKeyFrom, rowKeyTo, rowKeyBefore].some((bound) => bound !== undefined);
  const hasPrefix = prefix !== undefined || startsWith !== undefined;
  if (hasRange && hasPrefix) {
    throw new ValueError(`${type}: a query has a prefix or a range of RowKeys, not both`);
  }
  if (!hasRange) return prefixBounds(rowKey, prefix ?? {}, startsWith);
  const ends = { from: rowKeyFrom, to: rowKeyTo, before: rowKeyBefore };
  return { keys: boundsOf(rowKey, ends), class: 'range' };
}

/** The condition of a query as data; undefined when it has none. */
export function conditionOf<D extends AnyDefinition>(
  definition: D,
  { where }: RowConditions<D>,
): Filter | undefined {
  return where?.(filterFieldsOf(definition));
}

/** The condition of a query as the service evaluates it; undefined when it has none. */
export function whereFilter<D extends AnyDefinition>(
  definition: D,
  conditions: RowConditions<D>,
): Filter | undefined {
  const condition = conditionOf(definition, conditions);
  const { system, version, upgradeFrom } = definition;
  if (condition === undefined || upgradeFrom === undefined) return condition;
  const isCurrent = whereStored(system.version, 'ge', { type: 'Int32', value: version });
  // Only an upgrade shows whether a row of an older version satisfies it.
  return condition.or(isCurrent.not());
}

/** A plan of reads that each take at least one request. */
export function planOf(
  planClass: PlanClass,
  reads: readonly RowSelection[],
  select?: readonly string[],
): QueryPlan {
  const filters = reads.map(odataOfSelection);
  return { class: planClass, reads, filters, select, requestsMin: reads.length };
}

/** The plan of a query of partitions, in the order given. Sends nothing. */
export function planPartitions<D extends AnyDefinition>(
  definition: D,
  query: PartitionsQuery<D>,
  select: readonly string[] | undefined,
): QueryPlan {
  const { keys: rowKey, class: planClass } = rowKeyBounds(definition, query);
  const where = whereFilter(definition, query);
  const codec = codecOf(definition);
  const reads = query.partitions.map((partition) => ({
    partitionKey: codec.partitionKey(partition),
    rowKey,
    where,
  }));
  return planOf(planClass, reads, select);
}

/** The plan of a scan of all partitions. Sends nothing. */
export function planScan<D extends AnyDefinition>(
  definition: D,
  query: TableScan<D>,
  select: readonly string[] | undefined,
): QueryPlan {
  const { type, partitionKey, rowKey } = definition;
  const { partitionPrefix, partitionFrom: from, partitionTo: to, partitionBefore: before } = query;
  const hasRange = [from, to, before].some((bound) => bound !== undefined);
  if (hasRange && partitionPrefix !== undefined) {
    throw new ValueError(`${type}: a scan has a prefix or a range of PartitionKeys, not both`);
  }
  const partitions = prefixOf(partitionKey, partitionPrefix ?? {});
  const read = {
    partitionKey: hasRange
      ? boundsOf(partitionKey, { from, to, before })
      : keysOfPrefix(partitions),
    rowKey: keysOfPrefix(prefixOf(rowKey, {})),
    where: whereFilter(definition, query),
  };
  const scanned = !hasRange && partitions.isWhole ? 'partition-scan' : 'table-scan';
  return planOf(scanned, [read], select);
}
