import { own } from '../base/own.js';

/** How often data of each criticality are backed up, in milliseconds above 0. */
export type BackupIntervals = Readonly<Record<string, number>>;

export interface BackedUpShard {
  readonly name: string;
  /**
   * The criticalities of its data: names of intervals. The shortest interval applies to the whole
   * shard.
   */
  readonly holds: readonly string[];
  /** When its last backup began, in milliseconds since 1970; absent: there is none. */
  readonly lastMs?: number;
}

export interface DueBackup {
  readonly shard: string;
  /**
   * The criticality whose interval applies; undefined: none of its criticalities has an interval.
   */
  readonly criticality: string | undefined;
  /**
   * Since when the backup is due, in milliseconds since 1970; undefined: there has been no backup.
   */
  readonly sinceMs: number | undefined;
}

interface RankedBackup extends DueBackup {
  /** How long the backup is due, as a multiple of its interval. */
  readonly share: number;
}

/**
 * The shards to back up now: first those without any backup, then by how long they are due,
 * measured in their intervals. A shard whose criticalities have no interval is always included. A
 * value that is no number above 0 counts as no interval, and a `lastMs` that is no moment counts as
 * no backup.
 */
export function dueBackups(
  intervals: BackupIntervals,
  shards: readonly BackedUpShard[],
  nowMs: number,
): readonly DueBackup[] {
  const due = shards.flatMap(({ name, holds, lastMs }): readonly RankedBackup[] => {
    const lengthOf = (criticality: string): number => own(intervals, criticality) ?? NaN;
    const known = holds.filter((each) => lengthOf(each) > 0 && lengthOf(each) < Infinity);
    const [criticality] = known.toSorted((left, right) => lengthOf(left) - lengthOf(right));
    if (criticality === undefined || lastMs === undefined || !Number.isFinite(lastMs)) {
      return [{ shard: name, criticality, sinceMs: undefined, share: Infinity }];
    }
    const length = lengthOf(criticality);
    const sinceMs = lastMs + length;
    const share = (nowMs - sinceMs) / length;
    return sinceMs <= nowMs ? [{ shard: name, criticality, sinceMs, share }] : [];
  });
  const sorted = due
    .toSorted((left, right) => (left.share === right.share ? 0 : right.share - left.share))
    .map(({ shard, criticality, sinceMs }) => Object.freeze({ shard, criticality, sinceMs }));
  return Object.freeze(sorted);
}
