import assert from 'node:assert/strict';
import type { Bytes } from '../../src/base/bytes.js';
import {
  planBalance,
  type BalancePlan,
  type OperationKind,
  type PlannedOperation,
  type RangeState,
} from '../../src/placement/balancer/plan.js';
import { defaultBalancerPolicy } from '../../src/placement/balancer/policy.js';

export interface ModelPartition {
  /** Calls a second. */
  readonly calls: number;
  readonly bytes: number;
}

/** Partitions from `from` up to `to`, which is not included. */
interface ModelRange {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly store: number;
  readonly bornMs: number;
  readonly kind: OperationKind | undefined;
}

export interface ModelSetup {
  readonly partitions: readonly ModelPartition[];
  readonly stores: number;
  /** Ranges begin at these partitions. */
  readonly layout: readonly { readonly at: number; readonly store: number }[];
  /** The number of a store that takes no ranges, if there is one of that number beside others. */
  readonly drained?: number;
}

const samples = 48;

/** Ranges of partitions with a constant load, which plans change at once. */
export class BalancedModel {
  static readonly roundMs = 15_000;
  measuredMs: number = defaultBalancerPolicy.quietMs;
  readonly #partitions: readonly ModelPartition[];
  readonly #stores: number;
  readonly #drained: number;
  #ranges: readonly ModelRange[];
  #nextId = 1;
  #nowMs = 0;

  constructor({ partitions, stores, layout, drained = stores }: ModelSetup) {
    this.#partitions = partitions;
    this.#stores = stores;
    this.#drained = stores > 1 ? drained : stores;
    const at = new Map(layout.map((each) => [each.at % partitions.length, each.store % stores]));
    const starts = [...new Set([0, ...at.keys()])].toSorted((left, right) => left - right);
    this.#ranges = starts.map((from, index) => ({
      id: this.#id(),
      from,
      to: starts[index + 1] ?? partitions.length,
      store: at.get(from) ?? 0,
      bornMs: 0,
      kind: undefined,
    }));
  }

  /** Where ranges begin, and their stores. */
  get state(): string {
    return this.#ranges.map(({ from, store }) => `${from}@${store}`).join(' ');
  }

  get rangeCount(): number {
    return this.#ranges.length;
  }

  get takers(): readonly string[] {
    return this.#storeStates.filter(({ takesRanges }) => takesRanges).map(({ name }) => name);
  }

  /** Calls a second of each store. */
  loads(): readonly number[] {
    return this.#storeStates.map((_, store) =>
      this.#ranges
        .filter((range) => range.store === store)
        .reduce((sum, range) => sum + this.#sum(range, 'calls'), 0),
    );
  }

  plan(running = 0): BalancePlan {
    return planBalance({
      ranges: this.#ranges.map((range) => this.#stateOf(range)),
      stores: this.#storeStates,
      running,
      measuredMs: this.measuredMs,
      policy: defaultBalancerPolicy,
    });
  }

  /** The time of one round passes. */
  pass(): void {
    this.#nowMs += BalancedModel.roundMs;
  }

  apply(operation: PlannedOperation): void {
    const index = this.#ranges.findIndex(
      ({ id }) => id === (operation.kind === 'merge' ? operation.left : operation.range),
    );
    const range = this.#ranges[index];
    assert.ok(range !== undefined);
    const born = { bornMs: this.#nowMs, kind: operation.kind };
    switch (operation.kind) {
      case 'split': {
        const at = operation.at[0] ?? 0;
        assert.ok(range.from < at && at < range.to, 'a cut is inside of its range');
        const left = { ...range, ...born, id: this.#id(), to: at };
        this.#replace(index, 1, [left, { ...range, ...born, id: this.#id(), from: at }]);
        return;
      }
      case 'merge': {
        const right = this.#ranges[index + 1];
        assert.equal(right?.id, operation.right);
        assert.equal(right.store, range.store);
        this.#replace(index, 2, [{ ...range, ...born, id: this.#id(), to: right.to }]);
        return;
      }
      case 'move': {
        assert.equal(operation.source, `s${range.store}`);
        assert.notEqual(operation.target, operation.source);
        const store = Number(operation.target.slice(1));
        this.#replace(index, 1, [{ ...range, ...born, store }]);
      }
    }
  }

  get #storeStates() {
    return Array.from({ length: this.#stores }, (_, index) => ({
      name: `s${index}`,
      takesRanges: index !== this.#drained,
    }));
  }

  #stateOf(range: ModelRange): RangeState {
    const { id, store, kind, bornMs } = range;
    const calls = this.#sum(range, 'calls');
    return {
      id,
      store: `s${store}`,
      callsPerSecond: calls,
      longCallsPerSecond: calls,
      bytes: this.#sum(range, 'bytes'),
      sizeCut: this.#sizeCut(range),
      accessed: this.#accessed(range, calls),
      isBusy: false,
      last: kind && { kind, agoMs: this.#nowMs - bornMs },
    };
  }

  /** Partitions as often as they are called, in an order that says nothing. */
  #accessed(range: ModelRange, calls: number): readonly Bytes[] {
    if (calls === 0) return [];
    return Array.from({ length: samples }, (_, index) => {
      // Steps of 17 visit all of 48.
      let left = (((index * 17) % samples) + 0.5) * (calls / samples);
      let at = range.from;
      while (left > (this.#partitions[at]?.calls ?? Infinity)) {
        left -= this.#partitions[at]?.calls ?? 0;
        at += 1;
      }
      return Buffer.from([at]);
    });
  }

  #sizeCut(range: ModelRange): Bytes | undefined {
    if (range.to - range.from < 2) return undefined;
    const half = this.#sum(range, 'bytes') / 2;
    let at = range.from + 1;
    while (at < range.to - 1 && this.#sum({ ...range, to: at }, 'bytes') < half) at += 1;
    return Buffer.from([at]);
  }

  #sum({ from, to }: ModelRange, of: keyof ModelPartition): number {
    return this.#partitions.slice(from, to).reduce((sum, each) => sum + each[of], 0);
  }

  #replace(index: number, count: number, ranges: readonly ModelRange[]): void {
    this.#ranges = this.#ranges.toSpliced(index, count, ...ranges);
  }

  #id(): number {
    this.#nextId += 1;
    return this.#nextId;
  }
}
