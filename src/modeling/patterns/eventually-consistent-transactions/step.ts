import { ModelError } from '../../table/errors.js';

/** What a step knows of the run that it belongs to. */
export interface StepContext {
  /** Of the intent: the same in every run of it. */
  readonly intentId: string;
  /** Runs of the intent, this one included, as far as the queue knows. */
  readonly attempt: number;
  /** Aborted when the run must end; check it before each write. */
  readonly signal: AbortSignal;
}

/**
 * `done`: the step did its work. `already-done`: an earlier run had done it. `void`: its subject
 * does not exist, and did not exist before, as far as can be found out; the intent ends without
 * further steps.
 */
export type StepOutcome = 'done' | 'already-done' | 'void';

/**
 * One step of a workflow: one of this library, or one of your own, written as an object. It must be
 * idempotent: run again after a crash anywhere, also after steps behind it have run, it must lead
 * to the same end. When it rejects, the whole intent comes again.
 */
export interface Step<Payload> {
  /** For reports and errors. */
  readonly name: string;
  /** Resolving with nothing means `done`. Its requests are its own affair. */
  readonly run: (payload: Payload, context: StepContext) => Promise<StepOutcome | void>;
}

/** Others kept changing what a step works on. The intent comes again later. */
export class StepConflictError extends ModelError {
  override readonly name = 'StepConflictError';
}

/** How often a step starts over because of others before it gives up for the time being. */
const conflictsMax = 10;

/** Runs `attempt` until it gives something. Throws `StepConflictError` when it never does. */
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
