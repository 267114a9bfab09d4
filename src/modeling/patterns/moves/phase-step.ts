/** A step of a move: from one of some phases to another. */
export interface PhaseStep<Phase extends string> {
  readonly from: readonly Phase[];
  readonly to: Phase;
  /**
   * Phases that are reached only after `to`. A move in one of them has taken the step already,
   * perhaps in another program.
   */
  readonly beyond?: readonly Phase[];
}

/** Whether a step is still to be taken; `impossible`: it does not begin in the phase. */
export function stepIn<Phase extends string>(
  phase: Phase,
  { from, to, beyond = [] }: PhaseStep<Phase>,
): 'due' | 'taken' | 'impossible' {
  if (phase === to || beyond.includes(phase)) return 'taken';
  return from.includes(phase) ? 'due' : 'impossible';
}

/** The message for a step that cannot begin in the phase that was found. */
export function wrongPhase(title: string, found: string, from: readonly string[]): string {
  return `${title} is in the phase '${found}'; this step begins in ${from.join(' or ')}`;
}
