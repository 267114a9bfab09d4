import { limitText, type KnownLimit } from '../../../placement/limits/known-limit.js';
import { differingLimits } from '../../../placement/limits/known-limits.js';
import { ValueError } from '../../rows/model-error.js';
import { checkFigures } from '../facts/figure.js';
import type { Severity } from '../findings/finding.js';
import { accessRules } from './access-rules.js';
import type { PlacementDesign } from './design.js';
import { keyRules } from './key-rules.js';
import { placementLoadRules } from './load-rules.js';
import type { PlacementRule } from './placement-rule.js';
import { shapeRules } from './shape-rules.js';
import { systemRules } from './system-rules.js';

/** A problem of a design of partitions. Frozen; JSON contains all of it. */
export interface PlacementFinding {
  /** The id of the rule; it does not change. */
  readonly id: string;
  readonly severity: Severity;
  readonly subject: string;
  readonly problem: string;
  readonly advice: string;
  readonly figures: Readonly<Record<string, number | string>>;
  /**
   * The figure on which it is based, with source and date, followed by differing figures of other
   * sources; undefined: none.
   */
  readonly source: string | undefined;
  /**
   * The sentences of the guidance that ask for it, by their numbers in the table of
   * docs/guides/partitioning.md, such as `G2`.
   */
  readonly guidance: readonly string[];
}

/** Every rule, in the order of the guidance's lists. */
export const placementRules: readonly PlacementRule[] = [
  ...keyRules,
  ...placementLoadRules,
  ...accessRules,
  ...shapeRules,
  ...systemRules,
];

const severities: readonly Severity[] = ['error', 'warning', 'info'];

/**
 * Checks a design against the guidance's lists for design and operation. The most severe findings
 * come first. Sends nothing. Rules about facts that the design lacks are skipped, so a review
 * without findings proves nothing. `limits` are figures of your own, which win over the published
 * ones. Throws `ValueError` for figures that are negative or infinite, and for a maintenance
 * without a rate.
 */
export function reviewPlacement(
  design: PlacementDesign,
  { limits = [] }: { readonly limits?: readonly KnownLimit[] } = {},
): readonly PlacementFinding[] {
  checkFigures(design, '');
  if (design.maintenance?.bytesPerSecond === 0) {
    throw new ValueError('maintenance.bytesPerSecond: nothing is moved at a rate of 0');
  }
  const found = placementRules.flatMap(({ id, severity, advice, guidance, remarks }) =>
    remarks(design, limits).map(({ subject, problem, figures, limit }) =>
      Object.freeze({
        id,
        severity,
        subject,
        problem,
        advice,
        figures: Object.freeze({ ...figures }),
        source: limit === undefined ? undefined : sourceText(limit),
        guidance: Object.freeze([...guidance]),
      }),
    ),
  );
  return found.sort(
    (left, right) => severities.indexOf(left.severity) - severities.indexOf(right.severity),
  );
}

function sourceText(limit: KnownLimit): string {
  return [limit, ...differingLimits(limit)].map(limitText).join('; ');
}
