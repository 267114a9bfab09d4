import type { BalancerPolicy } from './policy.js';

/** Why a plan has no operation. Rates are calls a second; differences are parts of the mean. */
export type IdleReason =
  | { readonly kind: 'operations under way'; readonly running: number }
  /** At most one store takes ranges. */
  | { readonly kind: 'no other store' }
  | { readonly kind: 'little load'; readonly mean: number; readonly meanMin: number }
  | { readonly kind: 'even load'; readonly difference: number; readonly differenceMax: number }
  /** The loads differ, and no range may move now, or none would bring them closer. */
  | { readonly kind: 'no move helps'; readonly difference: number; readonly undoDelayMs: number }
  /** There are more ranges than stores need, and loads are not known long enough to merge any. */
  | { readonly kind: 'quiet unknown'; readonly quietMs: number; readonly rangesMin: number };

/** The loads on which a plan is based. */
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

/** The reasons why a plan has no operation. */
export function idleReasonsOf(summary: LoadSummary, policy: BalancerPolicy): readonly IdleReason[] {
  const { running, ranges, rangesMin, measuredMs } = summary;
  if (running >= policy.operationsMax) return [{ kind: 'operations under way', running }];
  const { quietMs } = policy;
  const isQuietUnknown = ranges > rangesMin && measuredMs < quietMs;
  const ofMerges: readonly IdleReason[] = isQuietUnknown
    ? [{ kind: 'quiet unknown', quietMs, rangesMin }]
    : [];
  return [reasonAgainstMoves(summary, policy), ...ofMerges];
}

function reasonAgainstMoves(summary: LoadSummary, policy: BalancerPolicy): IdleReason {
  const { takers, mean } = summary;
  if (takers < 2) return { kind: 'no other store' };
  const { busyCallsPerSecond, imbalance: differenceMax, undoDelayMs } = policy;
  if (mean < busyCallsPerSecond) return { kind: 'little load', mean, meanMin: busyCallsPerSecond };
  const difference = summary.difference / mean;
  if (difference <= differenceMax) return { kind: 'even load', difference, differenceMax };
  return { kind: 'no move helps', difference, undoDelayMs };
}
