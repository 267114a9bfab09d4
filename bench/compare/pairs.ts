import type { WorkloadKind } from '../kinds.js';
import { row, shortNumber, titleOf } from '../report.js';

/** Both builds in one round: microseconds of processor time per request. */
export interface Pair {
  readonly kind: WorkloadKind;
  readonly ownMicros: number;
  readonly otherMicros: number;
}

/** The value below which a share of the others lies. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
}

function percent(ratio: number): string {
  const change = (ratio - 1) * 100;
  return `${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(1)} %`;
}

/**
 * A row for each kind: the medians, and the median of what the rounds say of the difference, with
 * the quarters of the rounds that say least and most left out.
 */
export function comparisonTable(pairs: readonly Pair[], kinds: readonly WorkloadKind[]): string {
  const head = [
    'kind',
    'rounds',
    'other µs/req',
    'this µs/req',
    'difference',
    'half of the rounds',
  ];
  const lines = [row(head), row(['---', ...head.slice(1).map(() => '---:')])];
  for (const kind of kinds) {
    const of = pairs.filter((pair) => pair.kind === kind);
    const ratios = of.map(({ ownMicros, otherMicros }) => ownMicros / otherMicros);
    const medianOf = (side: 'ownMicros' | 'otherMicros'): string =>
      shortNumber(
        quantile(
          of.map((pair) => pair[side]),
          0.5,
        ),
      );
    lines.push(
      row([
        titleOf(kind),
        String(of.length),
        medianOf('otherMicros'),
        medianOf('ownMicros'),
        percent(quantile(ratios, 0.5)),
        `${percent(quantile(ratios, 0.25))} to ${percent(quantile(ratios, 0.75))}`,
      ]),
    );
  }
  return lines.join('\n');
}
