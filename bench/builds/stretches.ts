import { basename } from 'node:path';
import { changeText, row, shortNumber } from '../figures.js';
import type { WorkloadKind } from '../kinds.js';
import { titleOf } from '../report.js';

/** Microseconds of processor time per request of one build, stretch by stretch. */
export interface Stretches {
  readonly kind: WorkloadKind;
  readonly repository: string;
  /** Stretches with the same index are neighbours in time. */
  readonly micros: readonly number[];
}

const bestShare = 0.05;

/** The value below which this share of the values lies. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

/**
 * The end of the best twentieth of the stretches, which other work of the machine has hardly
 * affected.
 */
export function bestOf({ micros }: Stretches): number {
  return quantile(micros, bestShare);
}

/** A row for each kind and build; differences are to the first build of the kind. */
export function comparisonTable(all: readonly Stretches[]): string {
  const head = ['kind', 'build', 'stretches', 'best 5 %', 'median', 'of best', 'of neighbours'];
  const lines = [row(head), row(['---', '---', ...head.slice(2).map(() => '---:')])];
  for (const each of all) {
    const first = all.find(({ kind }) => kind === each.kind) ?? each;
    const ratios = each.micros.map((micros, at) => micros / (first.micros[at] ?? Number.NaN));
    lines.push(
      row([
        titleOf(each.kind),
        basename(each.repository),
        String(each.micros.length),
        shortNumber(bestOf(each)),
        shortNumber(quantile(each.micros, 0.5)),
        each === first ? '' : changeText(bestOf(each) / bestOf(first)),
        each === first ? '' : changeText(quantile(ratios, 0.5)),
      ]),
    );
  }
  return lines.join('\n');
}
