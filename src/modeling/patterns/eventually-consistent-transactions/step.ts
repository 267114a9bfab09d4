import { ModelError } from '../../table/errors.js';

/** The run that a step belongs to. */
export interface StepContext {
  /** The id of the intent, the same in every run of it. */
  readonly intentId: string;
  /** Runs of the intent, this one included, as the queue counts them. */
  readonly attempt: number;
  /** Aborted when the run must end; check it before each write. */
  readonly signal: AbortSignal;
}

/**
 * `done`: the step did its work. `already-done`: an earlier run had done it. `void`: its subject
 * does not exist and, as far as can be found out, never did; the intent ends without further steps.
 */
export type StepOutcome = 'done' | 'already-done' | 'void';

/**
 * One step of a workflow: one of this library, or an object of your own. It must be idempotent: run
 * again after a crash at any point, even after later steps have run, it must lead to the same
 * result. When it rejects, the whole intent is repeated.
 */
export interface Step<Payload> {
  /** For reports and errors. */
  readonly name: string;
  /** Resolving without a value means `done`. */
  readonly run: (payload: Payload, context: StepContext) => Promise<StepOutcome | void>;
}

/** Other writers kept changing what a step works on. The intent is repeated later. */
export class StepConflictError extends ModelError {
  override readonly name = 'StepConflictError';
}

/** Attempts of a step that conflicts with others, before it fails for now. */
const conflictsMax = 10;

/**
 * Repeats `attempt` until it returns a value. Throws `StepConflictError` after the last attempt.
 */
export async function untilSettled<T>(
  what: string,
  signal: AbortSignal,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  for (let count = 0; count < conflictsMax; count += 1) {
    signal.throwIfAborted();
    const settled = await attempt();
    if (settled !== undefined) return settled;
  }
  throw new StepConflictError(`${what} was changed by others ${conflictsMax} times in a row`);
}
