/** When ranges are split, merged and moved. Rates are of calls that reach a store. */
export interface BalancerPolicy {
  /** A range with more calls a second is split. */
  readonly splitCallsPerSecond: number;
  /** A range with more bytes of keys and values is split. */
  readonly splitBytes: number;
  /** Neighbours are merged that together have less than this part of both, from 0 to 1. */
  readonly mergeShare: number;
  /** Ranges move when the busiest store is further from the idlest, as a part of the mean. */
  readonly imbalance: number;
  /** A move has to bring two stores closer by more, as a part of the mean. */
  readonly gain: number;
  /** Stores that have fewer calls a second on the mean are left as they are. */
  readonly busyCallsPerSecond: number;
  /** A range that is moved only to be merged with its neighbour has fewer bytes. */
  readonly gatherBytes: number;
  /** Fewer ranges for each store are not merged; more are made where there is load. */
  readonly rangesEachStore: number;
  readonly rangesMax: number;
  /** Operations under way at once, at most. */
  readonly operationsMax: number;
  /** How long an operation on a range is not undone, in milliseconds. */
  readonly restMs: number;
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
  restMs: 600_000,
  settleMs: 15_000,
  quietMs: 900_000,
});
