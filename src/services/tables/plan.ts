import { unreachable } from '../../base/invariant.js';
import type { Filter } from '../../wire/edm/filter.js';
import { keysWhere } from './key-bounds.js';
import {
  allKeys,
  complementOfKeys,
  intersectKeys,
  isAllKeys,
  isKeySubset,
  keyProduct,
  keySetSize,
  noKeys,
  uniteKeys,
  type KeySet,
} from './key-set.js';
import { mismatchHolds } from './mismatch.js';
import { allStrings, isSingleString, stringAfter, type StringInterval } from './string-set.js';
import type { PlanClass } from './types.js';

/** One stretch of keys to read. Bounds may end in U+0000: directly behind the key before it. */
export type KeyInterval =
  | { readonly kind: 'point'; readonly partitionKey: string; readonly rowKey: string }
  /** A part of one partition, or all of it. */
  | { readonly kind: 'rows'; readonly partitionKey: string; readonly rows: StringInterval }
  /** All rows of a range of partitions. */
  | { readonly kind: 'partitions'; readonly partitions: StringInterval };

/**
 * How to answer a query: read the intervals, in order, and return the rows for which the residual
 * holds. Intervals are sorted and disjoint, and every row that the filter matches lies in one.
 */
export interface QueryPlan {
  readonly planClass: PlanClass;
  readonly intervals: readonly KeyInterval[];
  /** What the intervals do not already guarantee; absent when they guarantee everything. */
  readonly residual: Filter | undefined;
}

/** Intervals in a plan. Beyond it, neighbours are read as one interval and filtered. */
export const intervalsMax = 1000;

const fullScan: QueryPlan = Object.freeze({
  planClass: 'table-scan',
  intervals: [{ kind: 'partitions', partitions: { start: '', end: undefined } }],
  residual: undefined,
} satisfies QueryPlan);

/** Size of a key set on the way to a plan. Beyond it, the plan becomes wider. */
const keySetSizeMax = 10_000;

/**
 * Plans a query over entities from its filter alone; pure. Conditions on PartitionKey and RowKey
 * become key intervals, exactly, however they are nested in `and`, `or` and `not`.
 */
export function planQuery(filter: Filter | undefined): QueryPlan {
  if (filter === undefined) return fullScan;
  const parts = filter.kind === 'and' ? filter.operands : [filter];
  const conjuncts = parts.map((part) => ({ filter: part, bounds: keyBounds(part) }));
  const mays = conjuncts.map(({ bounds }) => bounds.may);
  const intervals = boundIntervals(keyIntervals(narrowAll(mays, widen)));
  const read = keySetOf(intervals);
  const left = conjuncts.filter(({ bounds }) => !guarantees(read, bounds.must));
  return {
    planClass: classOf(intervals),
    intervals,
    residual: intervals.length === 0 ? undefined : conjunction(left.map(({ filter }) => filter)),
  };
}

function guarantees(read: KeySet, must: KeySet): boolean {
  if (isAllKeys(must)) return true;
  return must.length > 0 && isKeySubset(read, must);
}

function conjunction(operands: readonly Filter[]): Filter | undefined {
  const [only] = operands;
  return operands.length > 1 ? Object.freeze({ kind: 'and', operands }) : only;
}

/**
 * What the keys say about a condition: it can only hold for keys in `may`, and it does hold for all
 * keys in `must`. Negation swaps the two complements, so `not` stays exact over keys.
 */
interface KeyBounds {
  readonly may: KeySet;
  readonly must: KeySet;
}

const undecided: KeyBounds = { may: allKeys, must: noKeys };
const always: KeyBounds = { may: allKeys, must: allKeys };
const never: KeyBounds = { may: noKeys, must: noKeys };

function keyBounds(filter: Filter): KeyBounds {
  switch (filter.kind) {
    case 'and':
      return combine(filter.operands.map(keyBounds), narrowAll);
    case 'or':
      return combine(filter.operands.map(keyBounds), joinAll);
    case 'not': {
      const { may, must } = keyBounds(filter.operand);
      if (may === must) return exactly(complementOfKeys(may));
      return { may: complementOfKeys(must), must: complementOfKeys(may) };
    }
    case 'comparison': {
      const { property, operator, literal } = filter;
      if (property !== 'PartitionKey' && property !== 'RowKey') return undecided;
      if (literal.type !== 'Edm.String') return mismatchHolds(operator) ? always : never;
      const keys = keysWhere(operator, literal.value);
      return exactly(
        property === 'PartitionKey' ? keyProduct(keys, allStrings) : keyProduct(allStrings, keys),
      );
    }
    case 'property':
      return filter.property === 'PartitionKey' || filter.property === 'RowKey' ? never : undecided;
    case 'constant':
      return filter.value ? always : never;
    default:
      return unreachable(filter);
  }
}

function exactly(keys: KeySet): KeyBounds {
  return { may: keys, must: keys };
}

/** Makes a set that has grown too large smaller, at the price of being only a bound. */
type Approximate = (set: KeySet) => KeySet;

function combine(
  operands: readonly KeyBounds[],
  join: (sets: readonly KeySet[], approximate: Approximate) => KeySet,
): KeyBounds {
  let exact = operands.every((operand) => operand.may === operand.must);
  const mays = operands.map((operand) => operand.may);
  const may = join(mays, (set) => {
    exact = false;
    return widen(set);
  });
  if (exact) return exactly(may);
  const musts = operands.map((operand) => operand.must);
  return { may, must: join(musts, () => noKeys) };
}

function narrowAll(sets: readonly KeySet[], approximate: Approximate): KeySet {
  let shared = allKeys;
  for (const set of sets) {
    shared = intersectKeys(shared, set);
    if (keySetSize(shared) > keySetSizeMax) shared = approximate(shared);
  }
  return shared;
}

function joinAll(sets: readonly KeySet[], approximate: Approximate): KeySet {
  const united = uniteKeys(sets);
  if (united === undefined) return approximate(allKeys);
  return keySetSize(united) > keySetSizeMax ? approximate(united) : united;
}

/** A superset: whole stretches of rows, or else everything. */
function widen(set: KeySet): KeySet {
  if (set.length > keySetSizeMax) return allKeys;
  return set.map(({ partitions, rows }) => ({
    partitions,
    rows: [{ start: rows[0]?.start ?? '', end: rows.at(-1)?.end }],
  }));
}

function keyIntervals(set: KeySet): KeyInterval[] {
  const intervals: KeyInterval[] = [];
  for (const { partitions, rows } of set) {
    if (isSingleString(partitions)) {
      for (const row of rows) intervals.push(rowInterval(partitions.start, row));
    } else {
      appendPartitions(intervals, partitions);
    }
  }
  return intervals;
}

function rowInterval(partitionKey: string, rows: StringInterval): KeyInterval {
  return isSingleString(rows)
    ? { kind: 'point', partitionKey, rowKey: rows.start }
    : { kind: 'rows', partitionKey, rows };
}

function appendPartitions(intervals: KeyInterval[], partitions: StringInterval): void {
  const last = intervals.at(-1);
  if (last?.kind === 'partitions' && last.partitions.end === partitions.start) {
    const joined = { start: last.partitions.start, end: partitions.end };
    intervals[intervals.length - 1] = { kind: 'partitions', partitions: joined };
  } else {
    intervals.push({ kind: 'partitions', partitions });
  }
}

/** The same keys and more, in at most `intervalsMax` intervals: neighbours are read as one. */
function boundIntervals(intervals: readonly KeyInterval[]): readonly KeyInterval[] {
  if (intervals.length <= intervalsMax) return intervals;
  const groupSize = Math.ceil(intervals.length / intervalsMax);
  const bounded: KeyInterval[] = [];
  for (let start = 0; start < intervals.length; start += groupSize) {
    const first = intervals[start];
    const last = intervals[Math.min(start + groupSize, intervals.length) - 1];
    if (first === undefined || last === undefined) break;
    const next = hull(first, last);
    const before = bounded.at(-1);
    if (before !== undefined && overlap(before, next))
      bounded.push(hull(bounded.pop() ?? next, next));
    else bounded.push(next);
  }
  return bounded;
}

/**
 * Everything from the start of one interval to the end of a later one; whole partitions unless both
 * are in the same one.
 */
function hull(first: KeyInterval, last: KeyInterval): KeyInterval {
  if (first.kind !== 'partitions' && last.kind !== 'partitions') {
    const { partitionKey } = first;
    if (partitionKey === last.partitionKey) {
      return {
        kind: 'rows',
        partitionKey,
        rows: { start: rowsOf(first).start, end: rowsOf(last).end },
      };
    }
  }
  const partitions = { start: partitionsOf(first).start, end: partitionsOf(last).end };
  return { kind: 'partitions', partitions };
}

/** Whether the second of two hulls, which starts no earlier, begins in a partition of the first. */
function overlap(first: KeyInterval, second: KeyInterval): boolean {
  if (first.kind !== 'partitions' && second.kind !== 'partitions') return false;
  const { end } = partitionsOf(first);
  return end === undefined || partitionsOf(second).start < end;
}

function partitionsOf(interval: KeyInterval): StringInterval {
  if (interval.kind === 'partitions') return interval.partitions;
  return { start: interval.partitionKey, end: stringAfter(interval.partitionKey) };
}

function rowsOf(interval: KeyInterval): StringInterval {
  switch (interval.kind) {
    case 'point':
      return { start: interval.rowKey, end: stringAfter(interval.rowKey) };
    case 'rows':
      return interval.rows;
    case 'partitions':
      return wholePartition;
    default:
      return unreachable(interval);
  }
}

const wholePartition: StringInterval = { start: '', end: undefined };

/** The keys that intervals cover. They are sorted, so those of one partition are neighbours. */
function keySetOf(intervals: readonly KeyInterval[]): KeySet {
  const bands: { partitions: StringInterval; rows: StringInterval[] }[] = [];
  for (const interval of intervals) {
    const partitions = partitionsOf(interval);
    const last = bands.at(-1);
    if (last?.partitions.start === partitions.start) last.rows.push(rowsOf(interval));
    else bands.push({ partitions, rows: [rowsOf(interval)] });
  }
  return bands;
}

/** The class of the worst interval. */
function classOf(intervals: readonly KeyInterval[]): PlanClass {
  let worst: PlanClass = 'none';
  for (const interval of intervals) {
    const planClass = intervalClass(interval);
    if (planClasses.indexOf(planClass) > planClasses.indexOf(worst)) worst = planClass;
  }
  return worst;
}

const planClasses: readonly PlanClass[] = [
  'none',
  'point',
  'range',
  'partition-scan',
  'partition-range-scan',
  'table-scan',
];

function intervalClass(interval: KeyInterval): PlanClass {
  switch (interval.kind) {
    case 'point':
      return 'point';
    case 'rows':
      return isEverything(interval.rows) ? 'partition-scan' : 'range';
    case 'partitions':
      return isEverything(interval.partitions) ? 'table-scan' : 'partition-range-scan';
    default:
      return unreachable(interval);
  }
}

function isEverything({ start, end }: StringInterval): boolean {
  return start === '' && end === undefined;
}
