import { findingTexts, type Figures, type FindingCode } from './finding-texts.js';

/** `error`: it fails or is refused. `warning`: it is slow or expensive. `info`: worth knowing. */
export type Severity = 'error' | 'warning' | 'info';

/** A finding of the advisor. Frozen; JSON contains all of it. */
export type Finding = { [C in FindingCode]: FindingOf<C> }[FindingCode];

/** A problem of a design, with advice. */
export interface FindingOf<C extends FindingCode> {
  readonly severity: Severity;
  readonly code: C;
  /** The subject: `PartitionKey`, `index 'email'`, `operation 'by name'`, `property 'note'`. */
  readonly subject: string;
  /** The numbers behind the finding. Their names do not change. */
  readonly figures: Figures[C];
  /** What is wrong, in one sentence. */
  readonly problem: string;
  /** What to do instead. */
  readonly advice: string;
  /** The guide page, from the root of the documentation. */
  readonly pattern: string;
}

/** Makes a finding with the texts of its code. */
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

/** The most severe first, otherwise in the order in which they were found. */
export function bySeverity(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((left, right) => ranks[left.severity] - ranks[right.severity]);
}
