import { findingTexts, type Figures, type FindingCode } from './finding-texts.js';

/**
 * `error`: it will fail or be refused. `warning`: it will be slow or dear. `info`: worth knowing.
 */
export type Severity = 'error' | 'warning' | 'info';

/** Something that the advisor found. Frozen; JSON shows all of it. */
export type Finding = { [C in FindingCode]: FindingOf<C> }[FindingCode];

/** Something that a design should do otherwise. */
export interface FindingOf<C extends FindingCode> {
  readonly severity: Severity;
  readonly code: C;
  /**
   * What it is about: `PartitionKey`, `index 'email'`, `operation 'by name'`, `property 'note'`.
   */
  readonly subject: string;
  /** The numbers behind it. Their names do not change. */
  readonly figures: Figures[C];
  /** What is wrong, in one sentence. */
  readonly problem: string;
  /** What to do instead. */
  readonly advice: string;
  /** The guide page, from the root of the documentation. */
  readonly pattern: string;
}

/** A finding with the texts that belong to its code. */
export function finding<C extends FindingCode>(
  severity: Severity,
  code: C,
  subject: string,
  figures: Figures[C],
): FindingOf<C> {
  const { problem, advice, page } = findingTexts[code];
  const found: FindingOf<C> = {
    severity,
    code,
    subject,
    figures,
    problem: problem(figures),
    advice: advice(figures),
    pattern: `guides/patterns/${page}.md`,
  };
  Object.freeze(found.figures);
  return Object.freeze(found);
}

const ranks: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 };

/** The worst first; else in the order in which they were found. */
export function bySeverity(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((left, right) => ranks[left.severity] - ranks[right.severity]);
}
