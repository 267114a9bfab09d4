import { compareBytes, nameOfBytes, type Bytes } from '../../base/bytes.js';

/**
 * Where a range can be cut so that both parts have load. `hot`: one partition has most of it.
 * `rising`: calls go to ever greater keys, so the right part would soon have all of it. `unknown`:
 * too few calls were seen, or partitions are too coarse.
 */
export type LoadCut =
  | { readonly kind: 'cut'; readonly at: Bytes; readonly leftShare: number }
  | { readonly kind: 'hot'; readonly prefix: Bytes; readonly share: number }
  | { readonly kind: 'rising' }
  | { readonly kind: 'unknown' };

const samplesMin = 20;
/** The least share of the load in each part of a cut. */
const partShareMin = 0.25;
const hotShare = 0.5;
/** A load rises when this share of its later calls is beyond all of its earlier ones. */
const risingShare = 0.75;
/**
 * Keys rise slowly when at least this share of calls has a greater key than the call half a sample
 * before, and at most `downShareMax` a smaller one.
 */
const upShareMin = 0.5;
const downShareMax = 0.1;

/**
 * `accessed`: the partition prefixes of calls that were drawn by chance, in the order of the calls.
 */
export function cutByLoad(accessed: readonly Bytes[]): LoadCut {
  if (accessed.length < samplesMin) return { kind: 'unknown' };
  if (isRising(accessed)) return { kind: 'rising' };
  const sorted = accessed.toSorted(compareBytes);
  let best: { readonly at: Bytes; readonly leftShare: number } | undefined;
  for (const [index, at] of sorted.entries()) {
    const before = sorted[index - 1];
    if (before === undefined || compareBytes(before, at) === 0) continue;
    const leftShare = index / sorted.length;
    if (leftShare < partShareMin || leftShare > 1 - partShareMin) continue;
    if (best && Math.abs(best.leftShare - 0.5) <= Math.abs(leftShare - 0.5)) continue;
    best = { at, leftShare };
  }
  if (best !== undefined) return { kind: 'cut', ...best };
  const top = mostFrequent(sorted);
  return top !== undefined && top.share > hotShare ? { kind: 'hot', ...top } : { kind: 'unknown' };
}

function isRising(accessed: readonly Bytes[]): boolean {
  const half = accessed.length >> 1;
  const earlier = accessed.slice(0, half).toSorted(compareBytes).at(-1);
  if (earlier === undefined) return false;
  const later = accessed.slice(half);
  const beyond = later.filter((prefix) => compareBytes(prefix, earlier) > 0);
  return beyond.length / later.length >= risingShare || isClimbing(accessed.slice(0, half), later);
}

/**
 * True when a few new partitions appear during a sample: too few to be beyond all earlier calls,
 * but with ever greater keys. Randomly spread calls go up as often as down.
 */
function isClimbing(earlier: readonly Bytes[], later: readonly Bytes[]): boolean {
  const steps = earlier.map((prefix, index) => compareBytes(later[index] ?? prefix, prefix));
  const up = steps.filter((step) => step > 0).length / steps.length;
  const down = steps.filter((step) => step < 0).length / steps.length;
  return up >= upShareMin && down <= downShareMax;
}

function mostFrequent(accessed: readonly Bytes[]) {
  const counts = new Map<string, { readonly prefix: Bytes; count: number }>();
  for (const prefix of accessed) {
    const name = nameOfBytes(prefix);
    const found = counts.get(name);
    if (found === undefined) counts.set(name, { prefix, count: 1 });
    else found.count += 1;
  }
  const [top] = [...counts.values()].toSorted((left, right) => right.count - left.count);
  return top && { prefix: top.prefix, share: top.count / accessed.length };
}
