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
  /** What to do instead. */
  readonly advice: string;
  /** Figures of the caller come first, see `limitOf`. */
  readonly remarks: (design: PlacementDesign, own: readonly KnownLimit[]) => readonly Remark[];
}

/** A remark where a value is above a limit; none where nothing is published. */
export function overLimit(
  subject: string,
  value: number,
  limit: KnownLimit | undefined,
): readonly Remark[] {
  if (limit === undefined) return [];
  return remarkIf(value > limit.value, () => ({
    subject,
    problem: `It has ${value} ${limit.unit}.`,
    figures: { value, most: limit.value },
    limit,
  }));
}

/** A remark where something holds, none otherwise. */
export function remarkIf(holds: boolean, remark: () => Remark): readonly Remark[] {
  return holds ? [remark()] : [];
}
