import { unreachable } from '../../../base/invariant.js';
import { own } from '../../../base/own.js';
import { storedNameOf, type AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate, KeyValues } from '../../definition/key-template.js';
import type { AnyProperty } from '../../definition/property.js';
import {
  planPartitions,
  planScan,
  type PartitionQuery,
  type PartitionsQuery,
  type PlanClass,
  type TableScan,
} from '../../table/query-plan.js';
import { conditionOf, shareOfCondition } from '../facts/condition-share.js';
import { exactly, mapEstimate, type Estimate } from './estimate.js';
import type { EntitySize } from '../sizes/entity-size.js';
import { valuesOf } from '../facts/key-spread.js';
import type { RowSet } from './row-set.js';
import type { FactsByName } from '../facts/property-facts.js';
import type { ServiceTargets } from './service-targets.js';
import { shareOf, spreadOf } from '../facts/spread.js';
import { nameOfValue } from '../facts/value-name.js';

/** The expected reads of a query. */
export interface QueryReading {
  readonly planClass: PlanClass;
  /** Entities that the service reads. */
  readonly read: Estimate;
  /** Entities returned. */
  readonly returned: Estimate;
  /** Range reads. */
  readonly requests: Estimate;
  /** The number of partitions queried; undefined: all. */
  readonly partitions: number | undefined;
  /** Entities read in a partition that has this share of the rows. */
  readonly readAt: (share: number) => number;
  /**
   * Whether the number of rows in its range of RowKeys is unknown: the whole partition was assumed.
   */
  readonly isAssumed: boolean;
}

/** The facts of the workload about a query. */
export interface ReadingFacts {
  readonly select?: readonly string[] | undefined;
  readonly reads?: number | undefined;
  readonly returns?: number | undefined;
  readonly take?: number | undefined;
}

export interface ReadingContext {
  readonly rowSet: RowSet;
  readonly facts: FactsByName;
  readonly targets: ServiceTargets;
}

type AnyQuery = PartitionQuery<AnyDefinition> | PartitionsQuery<AnyDefinition>;

/** The expected reads of a query of one partition, or of several. */
export function readingOfQuery(
  context: ReadingContext,
  query: AnyQuery,
  known: ReadingFacts,
): QueryReading {
  const { rowSet, facts } = context;
  const { definition } = rowSet;
  const partitions = 'partitions' in query ? query.partitions : [query.partition];
  const { class: planClass } = planPartitions(definition, { ...query, partitions }, undefined);
  const range = rangeShare(planClass, definition.rowKey, query, { definition, facts });
  const density = planClass === 'partition-scan' ? densityOf(rowSet) : 1;
  const count = partitions.length;
  const each = rowsEach(rowSet, planClass, range, known.reads);
  const share = shareOfWhere(definition, query, facts);
  return finished(context, known, {
    planClass,
    each,
    density,
    share,
    partitions: count,
    readAt: (partition) => {
      if (planClass === 'point') return 1;
      return density * (known.reads ?? rowSet.rows * partition * (range?.expected ?? 1));
    },
    isAssumed: planClass === 'range' && range === undefined && known.reads === undefined,
  });
}

/** The expected reads of a scan of all partitions. */
export function readingOfScan(
  context: ReadingContext,
  scan: TableScan<AnyDefinition>,
  known: ReadingFacts,
): QueryReading {
  const { rowSet, facts } = context;
  const { definition } = rowSet;
  const { class: planClass } = planScan(definition, scan, undefined);
  const { partitionFrom, partitionTo, partitionBefore } = scan;
  const isRange = [partitionFrom, partitionTo, partitionBefore].some((each) => each !== undefined);
  const leading = (scan.partitionPrefix ?? {}) as KeyValues;
  const prefix = prefixShare(definition.partitionKey, leading, { definition, facts });
  const rows = mapEstimate(prefix ?? exactly(1), (share) => known.reads ?? rowSet.rows * share);
  const density = rowSet.rows === 0 ? 1 : rowSet.tableRows / rowSet.rows;
  return finished(context, known, {
    planClass,
    each: rows,
    density,
    share: shareOfWhere(definition, scan, facts),
    partitions: undefined,
    readAt: (partition) => density * rowSet.rows * partition,
    isAssumed: isRange && known.reads === undefined,
  });
}

function shareOfWhere(
  definition: AnyDefinition,
  query: AnyQuery | TableScan<AnyDefinition>,
  facts: FactsByName,
): number {
  const condition = conditionOf(definition, query);
  return condition === undefined ? 1 : (shareOfCondition(condition, definition, facts) ?? 1);
}

/**
 * Rows in the partition per row of the type. When the RowKeys of a type begin with the same text,
 * its rows are one range, whatever other rows are in the partition.
 */
function densityOf({ definition, density }: RowSet): number {
  return definition.rowKey.texts[0] === '' ? density : 1;
}

/** Rows of the type that the keys select in one partition. */
function rowsEach(
  { rows, partitions }: RowSet,
  planClass: PlanClass,
  range: Estimate | undefined,
  reads: number | undefined,
): Estimate {
  if (reads !== undefined) return exactly(reads);
  const atLeast1 = (count: number): number => Math.min(rows, Math.max(1, count));
  const { least, typical, greatest } = partitions;
  switch (planClass) {
    case 'point':
      return exactly(1);
    case 'partition-scan':
      return mapEstimate({ best: least, expected: typical, worst: greatest }, (share) =>
        atLeast1(rows * share),
      );
    case 'range':
    case 'table-scan':
      return {
        best: range === undefined ? 1 : atLeast1(rows * least * range.best),
        expected: atLeast1(rows * typical * (range?.expected ?? 1)),
        // A value may occur in one partition only.
        worst: atLeast1(rows * Math.min(greatest, range?.worst ?? 1)),
      };
    default:
      return unreachable(planClass);
  }
}

interface DefinitionFacts {
  readonly definition: AnyDefinition;
  readonly facts: FactsByName;
}

/** The share of a partition's rows in a range; undefined when the facts do not determine it. */
function rangeShare(
  planClass: PlanClass,
  template: KeyTemplate,
  query: AnyQuery,
  known: DefinitionFacts,
): Estimate | undefined {
  const { prefix, startsWith, rowKeyFrom, rowKeyTo, rowKeyBefore } = query;
  if (planClass !== 'range') return exactly(1);
  const isOpen = [startsWith, rowKeyFrom, rowKeyTo, rowKeyBefore].some(
    (bound) => bound !== undefined,
  );
  return isOpen || prefix === undefined
    ? undefined
    : prefixShare(template, prefix as KeyValues, known);
}

/** The share of keys that begin with these values. */
function prefixShare(
  { parts }: KeyTemplate,
  values: KeyValues,
  { definition, facts }: DefinitionFacts,
): Estimate | undefined {
  let all = exactly(1);
  for (const { property } of parts) {
    const value = values[property];
    if (value === undefined) break;
    const found = valuesOf(property, definition.properties[property], facts);
    if (found === undefined) return undefined;
    const name = nameOfValue(value);
    const told = name === undefined ? undefined : shareOf(found, name);
    const { least, typical, greatest } = spreadOf(found);
    const share =
      told === undefined ? { best: least, expected: typical, worst: greatest } : exactly(told);
    all = {
      best: all.best * share.best,
      expected: all.expected * share.expected,
      worst: all.worst * share.worst,
    };
  }
  return all;
}

interface PartialReading extends Pick<
  QueryReading,
  'planClass' | 'partitions' | 'readAt' | 'isAssumed'
> {
  /** Rows of the type that the keys select, in each partition. */
  readonly each: Estimate;
  readonly density: number;
  /** The share of them that satisfies the condition. */
  readonly share: number;
}

function finished(
  { rowSet, targets }: ReadingContext,
  { select, returns, take = Infinity }: ReadingFacts,
  { each, density, share, partitions, readAt, ...rest }: PartialReading,
): QueryReading {
  const count = partitions ?? 1;
  const found =
    returns === undefined ? mapEstimate(each, (rows) => rows * share) : exactly(returns);
  const returned = mapEstimate(found, (rows) => Math.min(take, rows * count));
  // Reading stops when enough rows were returned.
  const readMax = share === 0 || take === Infinity ? Infinity : (take / share) * density;
  const read = mapEstimate(each, (rows) => Math.min(readMax, rows * density * count));
  const bytes = bytesReturned(rowSet, select);
  const pages = (rows: number, of: number): number =>
    Math.max(1, Math.ceil(rows / targets.pageEntities), Math.ceil((rows * of) / targets.pageBytes));
  const perPartition = (rows: number, of: number): number =>
    count === 0 ? 0 : count * pages(rows / count, of);
  // A page also ends at the key range of a node: at worst after every partition.
  const seams = partitions === undefined ? Math.max(0, rowSet.partitions.values - 1) : 0;
  return {
    ...rest,
    read,
    returned,
    requests: {
      best: perPartition(returned.best, bytes.average),
      expected: perPartition(returned.expected, bytes.average),
      worst: perPartition(returned.worst, bytes.maximum) + seams,
    },
    partitions,
    readAt: (partition) => Math.min(readMax, readAt(partition)),
  };
}

/** The bytes of an entity that are returned. */
function bytesReturned(
  { definition, size }: RowSet,
  select: readonly string[] | undefined,
): EntitySize['bytes'] {
  if (select === undefined) return size.bytes;
  const names = new Set(
    select.flatMap((name) => {
      const property = own<AnyProperty>(definition.properties, name);
      return property === undefined ? [] : [storedNameOf(name, property)];
    }),
  );
  const left = size.fields.filter(({ property }) => {
    const top = property.split('.', 1)[0] ?? '';
    const found = own<AnyProperty>(definition.properties, top);
    return found === undefined || !names.has(storedNameOf(top, found));
  });
  return {
    average: left.reduce((sum, { bytes }) => sum - bytes.average, size.bytes.average),
    maximum: left.reduce((sum, { bytes }) => sum - bytes.maximum, size.bytes.maximum),
  };
}
