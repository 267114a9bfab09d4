import type { Bytes } from '../../base/bytes.js';
import type { LoadCut } from './load-cut.js';

/** A range that is too busy or too large, and that no split would help. */
export type BalanceFinding = {
  readonly range: number;
  readonly callsPerSecond: number;
  /** A sentence that tells the owner of the data what to do. */
  readonly advice: string;
} & (
  | {
      /** One partition has most of the load. A partition is never split. */
      readonly kind: 'hot partition';
      readonly prefix: Bytes;
      /** Its part of the load of the range, from 0 to 1. */
      readonly share: number;
    }
  /** Calls go to ever greater keys. */
  | { readonly kind: 'rising keys' }
  /** Too much data, and no partition prefix to cut at. */
  | { readonly kind: 'large partition'; readonly bytes: number }
);

const hotAdvice =
  'One partition has most of these calls, and is never split. Spread its entities over several ' +
  'PartitionKeys, for example with a bucket of a hash of the RowKey in front.';
const risingAdvice =
  'New keys are always the greatest, so every split would leave all calls in its right part. Put ' +
  'something in front of the PartitionKey that does not grow with time: a bucket of a hash.';
const largeAdvice =
  'One partition has most of this data, and is never split. Use more PartitionKeys, or remove ' +
  'what is old.';

/** The finding about a range that should be split but has no place to cut. */
export function cuttingAdvice(
  range: {
    readonly id: number;
    readonly callsPerSecond: number;
    readonly bytes: number | undefined;
  },
  why: 'load' | 'size',
  cut: LoadCut,
): readonly BalanceFinding[] {
  const { id, callsPerSecond, bytes = 0 } = range;
  const head = { range: id, callsPerSecond };
  if (why === 'size') return [{ ...head, kind: 'large partition', bytes, advice: largeAdvice }];
  if (cut.kind === 'rising') return [{ ...head, kind: 'rising keys', advice: risingAdvice }];
  if (cut.kind !== 'hot') return [];
  const { prefix, share } = cut;
  return [{ ...head, kind: 'hot partition', prefix, share, advice: hotAdvice }];
}
