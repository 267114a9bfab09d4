import type { KnownLimit } from '../../../placement/limits/known-limit.js';
import type { Severity } from '../findings/finding.js';
import type { PlacementDesign } from './design.js';

/** A remark of a rule about a design. */
export interface Remark {
  /** The subject: the name of a shard, a query, a field. */
  readonly subject: string;
  /** What is wrong, in one sentence with its figures. */
  readonly problem: string;
  readonly figures: Readonly<Record<string, number | string>>;
  /** The published figure on which it is based, if any. */
  readonly limit?: KnownLimit | undefined;
}

/** A check of the guidance's lists for design and operation. Pure. */
export interface PlacementRule {
  readonly id: string;
  readonly severity: Severity;
  /**
   * The sentences of the guidance that ask for it, by their numbers in the table of
   * docs/guides/partitioning.md.
   */
  readonly guidance: readonly string[];
  /** What to do instead. */
  readonly advice: string;
  /** Figures of the caller come first, see `limitOf`. */
  readonly remarks: (design: PlacementDesign, own: readonly KnownLimit[]) => readonly Remark[];
}

/** A figure that is too high, today or only after the growth. */
export interface Excess {
  readonly value: number;
  readonly isNow: boolean;
}

/**
 * The figure of today where it is above `most`, else that after the growth to plan for; undefined
 * where neither is.
 */
export function excessOf(
  today: number,
  most: number,
  { growth = 1 }: PlacementDesign = {},
): Excess | undefined {
  if (today > most) return { value: today, isNow: true };
  const value = today * growth;
  return value > most ? { value, isNow: false } : undefined;
}

/** A remark where a figure is too high, today or after the growth. */
export function remarkOn(
  excess: Excess | undefined,
  remark: (excess: Excess) => Remark,
): readonly Remark[] {
  return excess === undefined ? [] : [remark(excess)];
}

/**
 * A remark where a value is above a limit; none where nothing is published. With `grown` also where
 * it will be after the growth of that design.
 */
export function overLimit(
  subject: string,
  today: number,
  limit: KnownLimit | undefined,
  grown?: PlacementDesign,
): readonly Remark[] {
  if (limit === undefined) return [];
  return remarkOn(excessOf(today, limit.value, grown), ({ value, isNow }) => ({
    subject,
    problem: `It ${isNow ? 'has' : 'will have'} ${value} ${limit.unit}.`,
    figures: { value, most: limit.value },
    limit,
  }));
}

/** A remark where something holds, none otherwise. */
export function remarkIf(holds: boolean, remark: () => Remark): readonly Remark[] {
  return holds ? [remark()] : [];
}
