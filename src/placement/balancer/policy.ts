/** When ranges are split, merged and moved. Rates are of calls that reach a store. */
export interface BalancerPolicy {
  /** A range with more calls a second is split. */
  readonly splitCallsPerSecond: number;
  /** A range with more bytes of keys and values is split. */
  readonly splitBytes: number;
  /** Neighbours are merged when their sum is less than this share of both limits, from 0 to 1. */
  readonly mergeShare: number;
  /**
   * Ranges move when the loads of the busiest and the idlest store differ by more, as a share of
   * the mean.
   */
  readonly imbalance: number;
  /** A move must reduce the difference of two stores by more, as a share of the mean. */
  readonly gain: number;
  /** Ranges do not move while stores have fewer calls a second on average. */
  readonly busyCallsPerSecond: number;
  /** A range with more bytes is not moved only to be merged with its neighbour. */
  readonly gatherBytes: number;
  /**
   * The ranges of a store that suffice: beyond this number they may be merged; below it, busy
   * ranges are split.
   */
  readonly rangesEachStore: number;
  readonly rangesMax: number;
  /** Operations under way at once, at most. */
  readonly operationsMax: number;
  /** How long an operation on a range is not undone, in milliseconds. */
  readonly undoDelayMs: number;
  /** How long a range is measured before an operation on it is planned, in milliseconds. */
  readonly settleMs: number;
  /** How long loads must be known before a range counts as quiet, in milliseconds. */
  readonly quietMs: number;
}

export const defaultBalancerPolicy: BalancerPolicy = Object.freeze({
  splitCallsPerSecond: 500,
  splitBytes: 1 << 30,
  mergeShare: 0.25,
  imbalance: 0.25,
  gain: 0.05,
  busyCallsPerSecond: 10,
  gatherBytes: 64 << 20,
  rangesEachStore: 4,
  rangesMax: 10_000,
  operationsMax: 4,
  undoDelayMs: 600_000,
  settleMs: 15_000,
  quietMs: 900_000,
});
