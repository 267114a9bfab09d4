import type { BalancerPolicy } from './policy.js';

/** Why a plan has no operation. Rates are calls a second; differences are parts of the mean. */
export type BalanceRest =
  | { readonly kind: 'operations under way'; readonly running: number }
  /** At most one store takes ranges. */
  | { readonly kind: 'no other store' }
  | { readonly kind: 'little load'; readonly mean: number; readonly meanMin: number }
  | { readonly kind: 'even load'; readonly difference: number; readonly differenceMax: number }
  /** The loads differ, and no range may move now, or none would bring them closer. */
  | { readonly kind: 'no move helps'; readonly difference: number; readonly restMs: number }
  /** There are more ranges than stores need, and loads are not known long enough to merge any. */
  | { readonly kind: 'quiet unknown'; readonly quietMs: number; readonly rangesMin: number };

/** What a plan was made from. */
export interface LoadSummary {
  readonly running: number;
  readonly ranges: number;
  readonly rangesMin: number;
  readonly measuredMs: number;
  /** Stores that take ranges. */
  readonly takers: number;
  /** Calls a second of a store, on the mean. */
  readonly mean: number;
  /** Calls a second of the busiest store beyond those of the idlest that takes ranges. */
  readonly difference: number;
}

/** Says of a plan without an operation why it has none. */
export function restsOf(summary: LoadSummary, policy: BalancerPolicy): readonly BalanceRest[] {
  const { running, ranges, rangesMin, measuredMs } = summary;
  if (running >= policy.operationsMax) return [{ kind: 'operations under way', running }];
  const { quietMs } = policy;
  const isQuietUnknown = ranges > rangesMin && measuredMs < quietMs;
  const ofMerges: readonly BalanceRest[] = isQuietUnknown
    ? [{ kind: 'quiet unknown', quietMs, rangesMin }]
    : [];
  return [restOfMoves(summary, policy), ...ofMerges];
}

function restOfMoves(summary: LoadSummary, policy: BalancerPolicy): BalanceRest {
  const { takers, mean } = summary;
  if (takers < 2) return { kind: 'no other store' };
  const { busyCallsPerSecond, imbalance: differenceMax, restMs } = policy;
  if (mean < busyCallsPerSecond) return { kind: 'little load', mean, meanMin: busyCallsPerSecond };
  const difference = summary.difference / mean;
  if (difference <= differenceMax) return { kind: 'even load', difference, differenceMax };
  return { kind: 'no move helps', difference, restMs };
}
