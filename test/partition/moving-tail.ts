import assert from 'node:assert/strict';
import type { Bytes } from '../../src/base/bytes.js';
import {
  planBalance,
  type BalancePlan,
  type OperationKind,
  type PlannedOperation,
} from '../../src/placement/balancer/plan.js';
import { defaultBalancerPolicy } from '../../src/placement/balancer/policy.js';
import { BalancedModel } from './balanced-model.js';

interface TailRange {
  readonly id: number;
  /** The first partition. */
  readonly from: number;
  readonly store: number;
  readonly bornMs: number;
  readonly kind: OperationKind | undefined;
}

const samples = 48;
const callsPerSecond = 2_000;

/** Calls go to the last partition alone, and new partitions are made all the time, as by a log. */
export class MovingTail {
  splits = 0;
  readonly #stores: number;
  readonly #eachRound: number;
  #ranges: readonly TailRange[];
  #last: number;
  #nextId = 2;
  #nowMs = 0;

  /** `from`: partitions there are; `eachRound`: how many are new between two plans. */
  constructor({ stores, from, eachRound }: Record<'stores' | 'from' | 'eachRound', number>) {
    this.#stores = stores;
    this.#eachRound = eachRound;
    this.#last = from;
    this.#ranges = [{ id: 1, from: 0, store: 0, bornMs: 0, kind: undefined }];
  }

  get rangeCount(): number {
    return this.#ranges.length;
  }

  plan(): BalancePlan {
    const tail = this.#ranges.length - 1;
    return planBalance({
      ranges: this.#ranges.map(({ id, store, kind, bornMs }, index) => ({
        id,
        store: `s${store}`,
        callsPerSecond: index === tail ? callsPerSecond : 0,
        longCallsPerSecond: index === tail ? callsPerSecond : 0,
        bytes: 1_000,
        sizeCut: undefined,
        accessed: index === tail ? this.#accessed() : [],
        isBusy: false,
        last: kind && { kind, agoMs: this.#nowMs - bornMs },
      })),
      stores: Array.from({ length: this.#stores }, (_, index) => ({
        name: `s${index}`,
        takesRanges: true,
      })),
      running: 0,
      measuredMs: defaultBalancerPolicy.quietMs,
      policy: defaultBalancerPolicy,
    });
  }

  /** The time of one round passes, and the tail moves. */
  pass(): void {
    this.#nowMs += BalancedModel.roundMs;
    this.#last += this.#eachRound;
  }

  apply(operation: PlannedOperation): void {
    const id = operation.kind === 'merge' ? operation.left : operation.range;
    const index = this.#ranges.findIndex((range) => range.id === id);
    const range = this.#ranges[index];
    assert.ok(range !== undefined);
    const made = { ...range, bornMs: this.#nowMs, kind: operation.kind };
    switch (operation.kind) {
      case 'split': {
        this.splits += 1;
        const at = Buffer.from(operation.at).readUInt32BE();
        const parts = [
          { ...made, id: this.#id() },
          { ...made, id: this.#id(), from: at },
        ];
        this.#ranges = this.#ranges.toSpliced(index, 1, ...parts);
        return;
      }
      case 'merge':
        this.#ranges = this.#ranges.toSpliced(index, 2, { ...made, id: this.#id() });
        return;
      case 'move': {
        const store = Number(operation.target.slice(1));
        this.#ranges = this.#ranges.with(index, { ...made, store });
      }
    }
  }

  #accessed(): readonly Bytes[] {
    const each = this.#eachRound / samples;
    return Array.from({ length: samples }, (_, index) => {
      const partition = Buffer.alloc(4);
      partition.writeUInt32BE(Math.floor(this.#last + index * each));
      return partition;
    });
  }

  #id(): number {
    this.#nextId += 1;
    return this.#nextId;
  }
}
