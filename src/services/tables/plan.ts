import { unreachable } from '../../base/invariant.js';
import type { Filter } from '../../model/edm/filter.js';
import type { EntityRange } from '../../model/edm/entity-range.js';
import { keysInRange } from './entity-range.js';
import { keysWhere } from './key-bounds.js';
import {
  classOf,
  exactIntervals,
  keyIntervals,
  keySetOf,
  type KeyInterval,
} from './key-interval.js';
import {
  allKeys,
  complementOfKeys,
  intersectKeys,
  intersectKeysWithin,
  isAllKeys,
  isKeySubset,
  keyProduct,
  keySetSize,
  noKeys,
  uniteKeys,
  type KeySet,
} from './key-set.js';
import { typeMismatchResult } from './type-mismatch.js';
import { PlanningSteps } from './planning-steps.js';
import { allStrings } from './string-set.js';
import type { QueryPlan } from './query-plan.js';

export type { KeyInterval, QueryPlan };

const fullScan: QueryPlan = Object.freeze({
  planClass: 'table-scan',
  intervals: [{ kind: 'partitions', partitions: { start: '', end: undefined } }],
  residual: undefined,
} satisfies QueryPlan);

/** The size limit of key sets during planning. Beyond it, the plan reads a superset. */
const keySetSizeMax = 10_000;

/**
 * Plans an entity query from its filter and a key range; pure. Conditions on PartitionKey and
 * RowKey become exact key intervals, whatever their nesting in `and`, `or` and `not`, within a
 * budget of planning steps; beyond it, the plan reads more.
 */
export function planQuery(filter: Filter | undefined, within?: EntityRange): QueryPlan {
  if (filter === undefined && within === undefined) return fullScan;
  const parts = filter === undefined ? [] : filter.kind === 'and' ? filter.operands : [filter];
  const steps = new PlanningSteps();
  const conjuncts = parts.map((part) => ({ filter: part, bounds: keyBounds(part, steps) }));
  const mays = conjuncts.map(({ bounds }) => bounds.may);
  const intervals =
    within === undefined ? intervalsOf(mays, steps) : intervalsWithin(within, mays, steps);
  const read = keySetOf(intervals);
  const left = conjuncts.filter(({ bounds }) => !guarantees(read, bounds.must, steps));
  return {
    planClass: classOf(intervals),
    intervals,
    residual: intervals.length === 0 ? undefined : conjunction(left.map(({ filter }) => filter)),
  };
}

/** The plan, computed on first use: long filters take milliseconds. */
export function planOnce(filter: Filter | undefined, within?: EntityRange): () => QueryPlan {
  let plan: QueryPlan | undefined;
  return () => (plan ??= planQuery(filter, within));
}

function intervalsOf(mays: readonly KeySet[], steps: PlanningSteps): readonly KeyInterval[] {
  return keyIntervals(narrowAll(mays, widen, steps));
}

/**
 * Planning may widen the intervals; the residual filters the rest. A key range is no part of the
 * filter, so the plan is cut to it at the end, which splits at most two intervals.
 */
function intervalsWithin(
  range: EntityRange,
  mays: readonly KeySet[],
  steps: PlanningSteps,
): readonly KeyInterval[] {
  const permitted = keysInRange(range);
  const planned = intervalsOf([permitted, ...mays], steps);
  return exactIntervals(intersectKeys(keySetOf(planned), permitted));
}

/** Also false when the steps do not suffice: an unneeded test is not wrong. */
function guarantees(read: KeySet, must: KeySet, steps: PlanningSteps): boolean {
  if (isAllKeys(must)) return true;
  return must.length > 0 && isKeySubset(read, must, steps) === true;
}

function conjunction(operands: readonly Filter[]): Filter | undefined {
  const [only] = operands;
  return operands.length > 1 ? Object.freeze({ kind: 'and', operands }) : only;
}

/**
 * The keys for which a condition can hold (`may`) and does hold (`must`). Negation swaps the two
 * complements, so `not` stays exact over keys.
 */
interface KeyBounds {
  readonly may: KeySet;
  readonly must: KeySet;
}

const undecided: KeyBounds = { may: allKeys, must: noKeys };
const always: KeyBounds = { may: allKeys, must: allKeys };
const never: KeyBounds = { may: noKeys, must: noKeys };

function keyBounds(filter: Filter, steps: PlanningSteps): KeyBounds {
  switch (filter.kind) {
    case 'and':
      return combine(operandBounds(filter.operands, steps), narrowAll, steps);
    case 'or':
      return combine(operandBounds(filter.operands, steps), joinAll, steps);
    case 'not': {
      const { may, must } = keyBounds(filter.operand, steps);
      if (!steps.take(keySetSize(may) + keySetSize(must))) return undecided;
      if (may === must) return exactly(complementOfKeys(may));
      return { may: complementOfKeys(must), must: complementOfKeys(may) };
    }
    case 'comparison': {
      const { property, operator, literal } = filter;
      if (property !== 'PartitionKey' && property !== 'RowKey') return undecided;
      if (literal.type !== 'Edm.String') return typeMismatchResult(operator) ? always : never;
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

function operandBounds(operands: readonly Filter[], steps: PlanningSteps): readonly KeyBounds[] {
  return operands.map((operand) => keyBounds(operand, steps));
}

function exactly(keys: KeySet): KeyBounds {
  return { may: keys, must: keys };
}

/** Replaces a key set that has grown too large by a bound. */
type Approximate = (set: KeySet) => KeySet;

type Join = (sets: readonly KeySet[], approximate: Approximate, steps: PlanningSteps) => KeySet;

function combine(operands: readonly KeyBounds[], join: Join, steps: PlanningSteps): KeyBounds {
  let exact = operands.every((operand) => operand.may === operand.must);
  const mays = operands.map((operand) => operand.may);
  const widened: Approximate = (set) => {
    exact = false;
    return widen(set);
  };
  const may = join(mays, widened, steps);
  if (exact) return exactly(may);
  const musts = operands.map((operand) => operand.must);
  return { may, must: join(musts, () => noKeys, steps) };
}

/** Combines in a balanced tree, so that a long chain is not traversed for each of its sets. */
const narrowAll: Join = (sets, approximate, steps) => {
  let left = sets;
  while (left.length > 1) {
    const narrowed: KeySet[] = [];
    for (let index = 0; index < left.length; index += 2) {
      const [first = allKeys, second = allKeys] = [left[index], left[index + 1]];
      narrowed.push(narrow([first, second], approximate, steps));
    }
    left = narrowed;
  }
  return left[0] ?? allKeys;
};

function narrow(
  [left, right]: readonly [KeySet, KeySet],
  approximate: Approximate,
  steps: PlanningSteps,
): KeySet {
  const shared = intersectKeysWithin(left, right, steps);
  // Each of the two contains the intersection.
  const found = shared ?? (keySetSize(left) < keySetSize(right) ? left : right);
  const isTooMuch = shared === undefined || keySetSize(found) > keySetSizeMax;
  return isTooMuch ? approximate(found) : found;
}

const joinAll: Join = (sets, approximate, steps) => {
  const united = uniteKeys(sets, steps);
  if (united === undefined) return approximate(allKeys);
  return keySetSize(united) > keySetSizeMax ? approximate(united) : united;
};

/** A superset: merged runs of rows, or all keys. */
function widen(set: KeySet): KeySet {
  if (set.length > keySetSizeMax) return allKeys;
  return set.map(({ partitions, rows }) => ({
    partitions,
    rows: [{ start: rows[0]?.start ?? '', end: rows.at(-1)?.end }],
  }));
}
