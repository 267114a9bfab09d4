import { changeText, row, shortNumber } from '../figures.js';
import { titleOf } from '../report.js';
import type { WorkloadKind } from '../kinds.js';
import type { ServerName } from '../server-process.js';
import { ratioIn, type Baseline } from './baseline.js';
import {
  othersShareMax,
  ratioDefinitions,
  ratioNames,
  isMeaningful,
  type KindRatios,
  type RatioName,
} from './ratios.js';

/** How much more time a request may take than in the baseline. */
export const tolerance = 0.2;

/** One ratio beside that of the baseline. */
export interface Change {
  readonly kind: WorkloadKind;
  readonly server: ServerName;
  readonly name: RatioName;
  readonly baseline: number;
  readonly now: number;
  /**
   * The cost of a request as a multiple of that in the baseline. Above 1 is worse, also for rates.
   */
  readonly cost: number;
  /** Whether the ratio is meaningful on a machine as busy as this one. */
  readonly isComparable: boolean;
}

export type ChangeClass = 'same' | 'worse' | 'better' | 'not comparable';

/** Every ratio that both the baseline and the run have. */
export function changesSince(
  baseline: Baseline,
  measured: readonly KindRatios[],
): readonly Change[] {
  return measured.flatMap(({ kind, server, ratios, othersShare }) =>
    ratioNames.flatMap((name) => {
      const before = ratioIn(baseline, { kind, server }, name);
      const now = ratios[name];
      if (before === undefined || now === undefined) return [];
      const { isRate } = ratioDefinitions[name];
      const isComparable = isMeaningful(name, othersShare);
      const cost = isRate ? before / now : now / before;
      return [{ kind, server, name, baseline: before, now, cost, isComparable }];
    }),
  );
}

export function classify({ cost, isComparable }: Change): ChangeClass {
  if (!isComparable) return 'not comparable';
  if (cost > 1 + tolerance) return 'worse';
  return cost < 1 / (1 + tolerance) ? 'better' : 'same';
}

/** A row for each ratio. */
export function changesTable(changes: readonly Change[]): string {
  const head = ['kind', 'server', 'ratio', 'baseline', 'now', 'change', 'class'];
  return [
    row(head),
    row(['---', '---', '---', '---:', '---:', '---:', '---']),
    ...changes.map((change) =>
      row([
        titleOf(change.kind),
        change.server,
        ratioDefinitions[change.name].title,
        shortNumber(change.baseline),
        shortNumber(change.now),
        changeText(change.now / change.baseline),
        classify(change),
      ]),
    ),
  ].join('\n');
}

function named({ kind, server, name, baseline, now, cost }: Change): string {
  const { title } = ratioDefinitions[name];
  const numbers = `${shortNumber(baseline)} before, ${shortNumber(now)} now`;
  return `${kind} of ${server}: ${title}: ${numbers}, ${changeText(cost)} a request`;
}

function lines(changes: readonly Change[]): string {
  return changes.map((change) => `  ${named(change)}\n`).join('');
}

/** What the changes mean and what to do about them, in words. */
export function conclusion(changes: readonly Change[]): string {
  const of = (changeClass: ChangeClass): readonly Change[] =>
    changes.filter((change) => classify(change) === changeClass);
  const [worse, better, open] = [of('worse'), of('better'), of('not comparable')];
  const percent = Math.round(tolerance * 100);
  const parts: string[] = [];
  if (open.length > 0) {
    const [rate, time] = [othersShareMax.rate, othersShareMax.processorTime].map((share) =>
      Math.round(share * 100),
    );
    parts.push(
      `${open.length} of ${changes.length} ratios are not comparable: other work took more of the machine than ` +
        `${rate} % (rates) or ${time} % (processor time). Run again when it is calm.\n`,
    );
  }
  if (better.length > 0) {
    parts.push(
      `Better by more than ${percent} %; --write-baseline keeps what was gained:\n${lines(better)}`,
    );
  }
  if (worse.length === 0) parts.push(`No comparable ratio is worse by more than ${percent} %.\n`);
  else {
    const kinds = [...new Set(worse.map(({ kind }) => kind))].join(',');
    parts.push(
      `Worse by more than ${percent} %:\n${lines(worse)}` +
        `Measure them again with --kinds ${kinds} --rounds 5. If they stay, --flame DIR shows where ` +
        'the time goes, and npm run bench:builds -- DIR which build brought it. If the change is ' +
        'meant, --write-baseline accepts it.\n',
    );
  }
  return parts.join('\n');
}

/** The result of a comparison. `unknown`: for a kind and a server, no figure was comparable. */
export type Outcome = 'good' | 'worse' | 'unknown';

export function outcomeOf(changes: readonly Change[]): Outcome {
  if (changes.some((change) => classify(change) === 'worse')) return 'worse';
  const of = (compared: readonly Change[]): number =>
    new Set(compared.map(({ kind, server }) => `${kind} ${server}`)).size;
  const comparable = changes.filter(({ isComparable }) => isComparable);
  return of(comparable) === of(changes) ? 'good' : 'unknown';
}
