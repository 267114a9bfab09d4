import type { Bytes } from '../../base/bytes.js';
import { cutByLoad, type LoadCut } from './load-cut.js';
import { cuttingAdvice, type BalanceFinding } from './findings.js';
import type { BalancerPolicy } from './policy.js';
import { idleReasonsOf, type IdleReason } from './idle-reasons.js';

/** A range and its measurements. */
export interface RangeState {
  readonly id: number;
  /** The store of the range. */
  readonly store: string;
  /** Recent calls a second. */
  readonly callsPerSecond: number;
  /** Calls a second, over a quarter of an hour or so. */
  readonly longCallsPerSecond: number;
  /** Bytes of keys and values; undefined while they are not known. */
  readonly bytes: number | undefined;
  /** A partition prefix that halves the bytes; undefined when there is none, or is not known. */
  readonly sizeCut: Bytes | undefined;
  /** Partition prefixes of calls that were drawn by chance, in the order of the calls. */
  readonly accessed: readonly Bytes[];
  /** An operation works on it. */
  readonly isBusy: boolean;
  /** The last operation on the range; undefined when it is not known. */
  readonly last: { readonly kind: OperationKind; readonly agoMs: number } | undefined;
}

export interface StoreState {
  readonly name: string;
  /** False while the store is emptied, or cannot be reached. */
  readonly takesRanges: boolean;
}

export type OperationKind = 'split' | 'merge' | 'move';

/** `spread`: there are too few ranges to share the load among stores. */
export type SplitReason = 'load' | 'size' | 'spread';

export type PlannedOperation =
  | {
      readonly kind: 'split';
      readonly range: number;
      readonly at: Bytes;
      readonly why: SplitReason;
    }
  | {
      readonly kind: 'move';
      readonly range: number;
      readonly source: string;
      readonly target: string;
      /** `merge`: the neighbour is there. */
      readonly why: 'load' | 'merge';
    }
  | { readonly kind: 'merge'; readonly left: number; readonly right: number };

export interface BalancePlan {
  readonly operations: readonly PlannedOperation[];
  /** Ranges with too much load or data that no operation helps. */
  readonly findings: readonly BalanceFinding[];
  /** Why there is no operation, once loads are measured. */
  readonly idleReasons: readonly IdleReason[];
}

export interface BalanceInput {
  /** All ranges in key order. */
  readonly ranges: readonly RangeState[];
  readonly stores: readonly StoreState[];
  /** Operations under way. */
  readonly running: number;
  /** For how long loads have been measured, in milliseconds. */
  readonly measuredMs: number;
  readonly policy: BalancerPolicy;
}

/**
 * Plans the next operations that distribute the load over the stores. Under a constant load, a
 * sequence of plans ends, and never returns to a former state of the ranges.
 */
export function planBalance(input: BalanceInput): BalancePlan {
  const planning = new Planning(input);
  // Moves come first, so that the parts of a hot range are split further on several stores.
  planning.move();
  planning.split();
  planning.merge();
  planning.gather();
  const { operations, findings, idleReasons } = planning;
  return { operations, findings, idleReasons };
}

class Planning {
  readonly operations: PlannedOperation[] = [];
  readonly findings: BalanceFinding[] = [];
  readonly #input: BalanceInput;
  readonly #used = new Set<number>();
  readonly #moving = new Set<string>();
  /** Calls a second of each store after the plan. */
  readonly #loads = new Map<string, number>();
  readonly #takers: readonly string[];
  readonly #mean: number;
  readonly #total: number;
  #ranges: number;

  constructor(input: BalanceInput) {
    this.#input = input;
    this.#ranges = input.ranges.length;
    this.#takers = input.stores.filter(({ takesRanges }) => takesRanges).map(({ name }) => name);
    for (const { name } of input.stores) this.#loads.set(name, 0);
    for (const { store, callsPerSecond } of input.ranges) this.#shift(store, callsPerSecond);
    this.#total = input.ranges.reduce((sum, { callsPerSecond }) => sum + callsPerSecond, 0);
    this.#mean = this.#total / Math.max(1, this.#takers.length);
  }

  split(): void {
    const { policy, ranges } = this.#input;
    for (const range of byLoad(ranges)) {
      const wanted = this.#whyToSplit(range);
      if (wanted === undefined) continue;
      const cut = cutByLoad(range.accessed);
      const place = this.#placeToSplit(range, wanted, cut);
      if (place?.why !== wanted && wanted !== 'spread') {
        this.findings.push(...cuttingAdvice(range, wanted, cut));
      }
      if (place === undefined) continue;
      const measuredMs = place.why === 'size' ? Infinity : this.#input.measuredMs;
      if (this.#ranges >= policy.rangesMax) continue;
      if (!this.#isFree(range, 'split', measuredMs)) continue;
      this.#add({ kind: 'split', range: range.id, ...place });
      this.#ranges += 1;
    }
  }

  move(): void {
    const { policy } = this.#input;
    if (this.#mean < policy.busyCallsPerSecond) return;
    const sources = [...this.#loads].toSorted(([, left], [, right]) => right - left);
    for (const [source, load] of sources) {
      const target = this.#idlest();
      if (target === undefined || this.#moving.has(source)) continue;
      const difference = load - (this.#loads.get(target) ?? 0);
      if (difference <= policy.imbalance * this.#mean) continue;
      const gainOf = ({ callsPerSecond }: RangeState) =>
        Math.min(callsPerSecond, difference - callsPerSecond);
      const best = this.#input.ranges
        .filter((range) => range.store === source && gainOf(range) > policy.gain * this.#mean)
        .filter((range) => this.#isFree(range, 'move'))
        .reduce<RangeState | undefined>(
          (most, range) => (most && gainOf(most) >= gainOf(range) ? most : range),
          undefined,
        );
      if (best !== undefined) this.#move(best, target, 'load');
    }
  }

  /** Neighbours on one store. */
  merge(): void {
    for (const [left, right] of this.#quietPairs()) {
      if (left.store !== right.store || this.#ranges <= this.#rangesMin) continue;
      if (!this.#isFree(left, 'merge') || !this.#isFree(right, 'merge')) continue;
      this.#add({ kind: 'merge', left: left.id, right: right.id });
      this.#used.add(left.id).add(right.id);
      this.#ranges -= 1;
    }
  }

  /** Moves neighbours to one store, so that a later plan can merge them. */
  gather(): void {
    const { policy } = this.#input;
    const small = ({ bytes = Infinity, callsPerSecond }: RangeState) =>
      bytes < policy.gatherBytes &&
      (this.#mean < policy.busyCallsPerSecond || callsPerSecond < policy.gain * this.#mean);
    for (const [left, right] of this.#quietPairs()) {
      if (left.store === right.store || this.#ranges <= this.#rangesMin) continue;
      const [less, more] =
        left.callsPerSecond <= right.callsPerSecond ? [left, right] : [right, left];
      if (!small(less) || !this.#takers.includes(more.store)) continue;
      if (this.#moving.has(less.store) || this.#moving.has(more.store)) continue;
      if (!this.#isFree(less, 'move') || !this.#isFree(more, 'merge')) continue;
      this.#move(less, more.store, 'merge');
      this.#used.add(more.id);
      this.#ranges -= 1;
    }
  }

  get idleReasons(): readonly IdleReason[] {
    const { ranges, running, measuredMs, policy } = this.#input;
    if (this.operations.length > 0 || measuredMs < policy.settleMs) return [];
    const idlest = this.#idlest();
    const least = idlest === undefined ? 0 : (this.#loads.get(idlest) ?? 0);
    const summary = {
      running,
      ranges: ranges.length,
      rangesMin: this.#rangesMin,
      measuredMs,
      takers: this.#takers.length,
      mean: this.#mean,
      difference: Math.max(0, ...this.#loads.values()) - least,
    };
    return idleReasonsOf(summary, policy);
  }

  get #rangesMin(): number {
    return this.#takers.length * this.#input.policy.rangesEachStore;
  }

  /** A range that is too large is split even when no cut divides its load. */
  #placeToSplit(
    { bytes = 0, sizeCut }: RangeState,
    wanted: SplitReason,
    cut: LoadCut,
  ): { readonly at: Bytes; readonly why: SplitReason } | undefined {
    if (wanted !== 'size' && cut.kind === 'cut') return { at: cut.at, why: wanted };
    const isLarge = bytes > this.#input.policy.splitBytes;
    return isLarge && sizeCut !== undefined ? { at: sizeCut, why: 'size' } : undefined;
  }

  #whyToSplit({ callsPerSecond, bytes = 0 }: RangeState): SplitReason | undefined {
    const { policy } = this.#input;
    if (callsPerSecond > policy.splitCallsPerSecond) return 'load';
    if (bytes > policy.splitBytes) return 'size';
    const isCoarse = this.#takers.length > 1 && this.#ranges < this.#rangesMin;
    const isBusy = this.#mean >= policy.busyCallsPerSecond;
    const fair = this.#total / Math.max(1, this.#rangesMin);
    return isCoarse && isBusy && callsPerSecond > fair ? 'spread' : undefined;
  }

  #quietPairs(): readonly (readonly [RangeState, RangeState])[] {
    const { ranges, policy, measuredMs } = this.#input;
    if (measuredMs < policy.quietMs) return [];
    const pairs: [RangeState, RangeState][] = [];
    for (const [index, right] of ranges.entries()) {
      const left = ranges[index - 1];
      if (left !== undefined && this.#isQuiet(left, right)) pairs.push([left, right]);
    }
    return pairs;
  }

  #isQuiet(left: RangeState, right: RangeState): boolean {
    const { mergeShare, splitCallsPerSecond, splitBytes } = this.#input.policy;
    const calls = Math.max(
      left.callsPerSecond + right.callsPerSecond,
      left.longCallsPerSecond + right.longCallsPerSecond,
    );
    const bytes = (left.bytes ?? Infinity) + (right.bytes ?? Infinity);
    return calls < mergeShare * splitCallsPerSecond && bytes < mergeShare * splitBytes;
  }

  /**
   * Whether the plan may apply this operation to a range now. An operation that does not depend on
   * load need not wait for measurements.
   */
  #isFree(
    { id, isBusy, last }: RangeState,
    kind: OperationKind,
    measuredMs = this.#input.measuredMs,
  ): boolean {
    const { policy, running } = this.#input;
    if (isBusy || this.#used.has(id)) return false;
    if (running + this.operations.length >= policy.operationsMax) return false;
    const knownMs = Math.min(measuredMs, last?.agoMs ?? Infinity);
    if (knownMs < policy.settleMs) return false;
    return last === undefined || last.kind !== undoes[kind] || last.agoMs >= policy.undoDelayMs;
  }

  #idlest(): string | undefined {
    const loadOf = (name: string) => this.#loads.get(name) ?? 0;
    return this.#takers
      .filter((name) => !this.#moving.has(name))
      .toSorted((left, right) => loadOf(left) - loadOf(right))[0];
  }

  #move({ id, store, callsPerSecond }: RangeState, target: string, why: 'load' | 'merge'): void {
    this.#add({ kind: 'move', range: id, source: store, target, why });
    this.#used.add(id);
    this.#moving.add(store).add(target);
    this.#shift(store, -callsPerSecond);
    this.#shift(target, callsPerSecond);
  }

  #add(operation: PlannedOperation): void {
    this.operations.push(operation);
    if (operation.kind === 'split') this.#used.add(operation.range);
  }

  #shift(store: string, calls: number): void {
    this.#loads.set(store, (this.#loads.get(store) ?? 0) + calls);
  }
}

/** The operation that must not follow soon. */
const undoes = { split: 'merge', merge: 'split', move: 'move' } as const;

function byLoad(ranges: readonly RangeState[]): readonly RangeState[] {
  return ranges.toSorted((left, right) => right.callsPerSecond - left.callsPerSecond);
}
