import { invariant } from '../../base/invariant.js';
import { PlanningSteps } from './planning-steps.js';
import {
  allStrings,
  complementOfStrings,
  intersectStrings,
  isAllStrings,
  lowerEnd,
  sameStrings,
  uniteStrings,
  type StringInterval,
  type StringSet,
} from './string-set.js';

/** The keys whose PartitionKey lies in one interval and whose RowKey lies in one of several. */
export interface Band {
  readonly partitions: StringInterval;
  /** Never empty. */
  readonly rows: StringSet;
}

/**
 * A set of (PartitionKey, RowKey) pairs: bands sorted by partition, disjoint in their partitions.
 * Closed under and, or and not, so key conditions keep their exact meaning however they are nested.
 */
export type KeySet = readonly Band[];

export const allKeys: KeySet = Object.freeze([
  Object.freeze({ partitions: { start: '', end: undefined }, rows: allStrings } satisfies Band),
]);

export const noKeys: KeySet = Object.freeze([]);

/** The cost of sorting an interval into a union, in steps. */
const unionStepWeight = 4;

export function isAllKeys(set: KeySet): boolean {
  const [only] = set;
  return (
    only !== undefined &&
    only.partitions.start === '' &&
    only.partitions.end === undefined &&
    isAllStrings(only.rows)
  );
}

/** All pairs of the given partition keys and row keys. */
export function keyProduct(partitions: StringSet, rows: StringSet): KeySet {
  if (rows.length === 0) return noKeys;
  return partitions.map((interval) => ({ partitions: interval, rows }));
}

/** How many intervals of single bands the set has: what it costs to store and to walk. */
export function keySetSize(set: KeySet): number {
  let size = 0;
  for (const band of set) size += band.rows.length;
  return size;
}

export function complementOfKeys(set: KeySet): KeySet {
  const bands: Band[] = [];
  let start: string | undefined = '';
  for (const { partitions, rows } of set) {
    if (start !== undefined && start < partitions.start) {
      bands.push({ partitions: { start, end: partitions.start }, rows: allStrings });
    }
    const others = complementOfStrings(rows);
    if (others.length > 0) bands.push({ partitions, rows: others });
    start = partitions.end;
  }
  if (start !== undefined) bands.push({ partitions: { start, end: undefined }, rows: allStrings });
  return bands;
}

export function intersectKeys(left: KeySet, right: KeySet): KeySet {
  const shared = intersectKeysWithin(left, right, new PlanningSteps(Infinity));
  invariant(shared !== undefined, 'steps without end are enough');
  return shared;
}

/** The intersection, or `undefined` when the steps do not suffice. */
export function intersectKeysWithin(
  left: KeySet,
  right: KeySet,
  steps: PlanningSteps,
): KeySet | undefined {
  if (isAllKeys(left)) return right;
  if (isAllKeys(right) || left === right) return left;
  const shared: Band[] = [];
  let l = 0;
  let r = 0;
  for (;;) {
    const a = left[l];
    const b = right[r];
    if (a === undefined || b === undefined) return shared;
    const start = a.partitions.start < b.partitions.start ? b.partitions.start : a.partitions.start;
    const end = lowerEnd(a.partitions.end, b.partitions.end);
    if (end === undefined || start < end) {
      if (!steps.take(rowSteps(a.rows, b.rows))) return undefined;
      const rows = intersectStrings(a.rows, b.rows);
      if (rows.length > 0) shared.push({ partitions: { start, end }, rows });
    }
    if (end === undefined) return shared;
    if (a.partitions.end === end) l += 1;
    if (b.partitions.end === end) r += 1;
    if (!steps.take(1)) return undefined;
  }
}

/** The cost of intersecting two sets of row keys; close to none when one is all keys. */
function rowSteps(left: StringSet, right: StringSet): number {
  return isAllStrings(left) || isAllStrings(right) ? 1 : left.length + right.length;
}

/** The union, or `undefined` when the steps do not suffice. */
export function uniteKeys(sets: readonly KeySet[], steps: PlanningSteps): KeySet | undefined {
  if (sets.some(isAllKeys)) return allKeys;
  const [only] = sets;
  if (only !== undefined && sets.length === 1) return only;
  const bands = sets.flat();
  if (!steps.take(unionStepWeight * bands.length)) return undefined;
  const cuts = partitionCuts(bands);
  const opening = bands.sort((a, b) => (a.partitions.start < b.partitions.start ? -1 : 1));
  let opened = 0;
  const active = new Set<Band>();
  const united: Band[] = [];
  for (const [index, start] of cuts.entries()) {
    for (const band of active) if (band.partitions.end === start) active.delete(band);
    for (; opening[opened]?.partitions.start === start; opened += 1) {
      const band = opening[opened];
      if (band !== undefined) active.add(band);
    }
    if (active.size === 0) continue;
    const parts = Array.from(active, (band) => band.rows);
    if (!steps.take(unionStepWeight * sizeOf(parts))) return undefined;
    const rows = uniteStrings(parts);
    appendBand(united, { partitions: { start, end: cuts[index + 1] }, rows });
  }
  return united;
}

function sizeOf(parts: readonly StringSet[]): number {
  let size = 0;
  for (const part of parts) size += part.length;
  return size;
}

/** True when `outer` contains every key of `inner`; `undefined` when the steps do not suffice. */
export function isKeySubset(
  inner: KeySet,
  outer: KeySet,
  steps: PlanningSteps,
): boolean | undefined {
  if (!steps.take(keySetSize(outer))) return undefined;
  const outside = intersectKeysWithin(inner, complementOfKeys(outer), steps);
  return outside === undefined ? undefined : outside.length === 0;
}

/** The starts and ends of the bands' partitions, in order. */
function partitionCuts(bands: readonly Band[]): string[] {
  const cuts = new Set<string>();
  for (const { partitions } of bands) {
    cuts.add(partitions.start);
    if (partitions.end !== undefined) cuts.add(partitions.end);
  }
  return Array.from(cuts).sort((a, b) => (a < b ? -1 : 1));
}

/** Appends a band, merged with the last one where the two are continuous. */
function appendBand(bands: Band[], band: Band): void {
  const last = bands.at(-1);
  if (last?.partitions.end === band.partitions.start && sameStrings(last.rows, band.rows)) {
    const partitions = { start: last.partitions.start, end: band.partitions.end };
    bands[bands.length - 1] = { partitions, rows: band.rows };
  } else {
    bands.push(band);
  }
}
