import { unreachable } from '../../base/invariant.js';
import type { KeySet } from './key-set.js';
import { isSingleString, stringAfter, type StringInterval } from './string-set.js';
import type { PlanClass } from '../../model/edm/query-report.js';
import type { KeyInterval } from './query-plan.js';

export type { KeyInterval };

/** The maximum number of intervals in a plan. Beyond it, neighbours are merged and filtered. */
export const intervalsMax = 1000;

/** Intervals that cover every key of the set, at most `intervalsMax`. */
export function keyIntervals(set: KeySet): readonly KeyInterval[] {
  return boundIntervals(exactIntervals(set));
}

/** Intervals that cover exactly the keys of the set. */
export function exactIntervals(set: KeySet): KeyInterval[] {
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

/**
 * A superset in at most `intervalsMax` intervals. Neighbours in one partition are merged; when that
 * is not enough, neighbouring partitions too.
 */
function boundIntervals(intervals: readonly KeyInterval[]): readonly KeyInterval[] {
  if (intervals.length <= intervalsMax) return intervals;
  const groupSize = Math.ceil((2 * intervals.length) / intervalsMax);
  const rows = grouped(intervals, groupSize, arePartOfOne);
  if (rows.length <= intervalsMax) return rows;
  return grouped(wholePartitions(rows), groupSize, () => true);
}

/** Merges runs of neighbours, each up to a length and only where neighbours may be merged. */
function grouped(
  intervals: readonly KeyInterval[],
  groupSize: number,
  mayJoin: (left: KeyInterval, right: KeyInterval) => boolean,
): KeyInterval[] {
  const groups: KeyInterval[] = [];
  let size = 0;
  for (const interval of intervals) {
    const last = groups.at(-1);
    if (last !== undefined && size < groupSize && mayJoin(last, interval)) {
      groups[groups.length - 1] = hull(last, interval);
      size += 1;
    } else {
      groups.push(interval);
      size = 1;
    }
  }
  return groups;
}

function arePartOfOne(left: KeyInterval, right: KeyInterval): boolean {
  return (
    left.kind !== 'partitions' &&
    right.kind !== 'partitions' &&
    left.partitionKey === right.partitionKey
  );
}

function wholePartitions(intervals: readonly KeyInterval[]): KeyInterval[] {
  const whole: KeyInterval[] = [];
  for (const interval of intervals) {
    const last = whole.at(-1);
    const partitions = partitionsOf(interval);
    if (last?.kind === 'partitions' && last.partitions.start === partitions.start) continue;
    whole.push({ kind: 'partitions', partitions });
  }
  return whole;
}

/**
 * The smallest interval from the start of one to the end of a later one; whole partitions unless
 * both are in the same one.
 */
function hull(first: KeyInterval, last: KeyInterval): KeyInterval {
  if (first.kind !== 'partitions' && arePartOfOne(first, last)) {
    const rows = { start: rowsOf(first).start, end: rowsOf(last).end };
    return { kind: 'rows', partitionKey: first.partitionKey, rows };
  }
  const partitions = { start: partitionsOf(first).start, end: partitionsOf(last).end };
  return { kind: 'partitions', partitions };
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

/** The keys in sorted intervals. Those of one partition are neighbours. */
export function keySetOf(intervals: readonly KeyInterval[]): KeySet {
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
export function classOf(intervals: readonly KeyInterval[]): PlanClass {
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
