/** The subject of a refusal. */
export type RefusalReason =
  | 'bad-count'
  | 'bad-key'
  | 'conflicting-keys'
  | 'different-places'
  | 'not-published'
  | 'outside'
  | 'too-much'
  | 'unknown-name';

/** Why a rule finds no place, and what to do instead: a value, never thrown. */
export interface Refusal {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  /** A sentence for people. */
  readonly message: string;
}

export function refused(reason: RefusalReason, message: string): Refusal {
  return Object.freeze({ kind: 'refused', reason, message });
}

/** Refuses a number of partitions, servers or the like that is no positive whole number. */
export function countRefusal(what: string, count: number): Refusal | undefined {
  if (Number.isSafeInteger(count) && count >= 1) return undefined;
  return refused('bad-count', `${count} ${what}; give a whole number from 1 on`);
}
