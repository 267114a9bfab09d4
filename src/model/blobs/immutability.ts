/**
 * A time-based retention of a blob, a snapshot or a version (blob-service §15.5). When it has
 * ended, the blob can be deleted but still not be changed.
 */
export interface ImmutabilityPolicy {
  /**
   * The end of the protection against deletion, in seconds since 1970; it may be centuries away.
   */
  readonly untilSeconds: number;
  /** A locked policy can only be extended; an unlocked one can be changed and deleted. */
  readonly mode: PolicyMode;
}

export type PolicyMode = 'unlocked' | 'locked';

/** The protection of a blob, a snapshot or a version: at least one of a policy and a legal hold. */
export interface Immutability {
  readonly policy?: ImmutabilityPolicy;
  readonly hasLegalHold: boolean;
}

/** Undefined when there is neither a policy nor a legal hold. */
export function immutabilityOf(
  policy: ImmutabilityPolicy | undefined,
  hasLegalHold: boolean,
): Immutability | undefined {
  if (policy === undefined && !hasLegalHold) return undefined;
  return { ...(policy !== undefined && { policy }), hasLegalHold };
}
