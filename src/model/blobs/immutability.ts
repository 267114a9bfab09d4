/**
 * A time-based retention of a blob, a snapshot or a version (blob-service §15.5). It outlasts its
 * end: what has it can be deleted then, and still not be changed.
 */
export interface ImmutabilityPolicy {
  /** Until when it keeps others from deleting, in seconds since 1970: it may be centuries. */
  readonly untilSeconds: number;
  /** A locked one can be extended and nothing else; an unlocked one can be changed and deleted. */
  readonly mode: PolicyMode;
}

export type PolicyMode = 'unlocked' | 'locked';

/** The protection of a blob, a snapshot or a version: at least one of a policy and a legal hold. */
export interface Immutability {
  readonly policy?: ImmutabilityPolicy;
  readonly hasLegalHold: boolean;
}

/** Undefined when it would be neither. */
export function immutabilityOf(
  policy: ImmutabilityPolicy | undefined,
  hasLegalHold: boolean,
): Immutability | undefined {
  if (policy === undefined && !hasLegalHold) return undefined;
  return { ...(policy !== undefined && { policy }), hasLegalHold };
}
