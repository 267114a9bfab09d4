/** The sides of a move: entities under their old keys, or under their new ones. */
export type Side = 'old' | 'new';

/**
 * The phase of a move. Writers in different phases may run concurrently: the rows decide which side
 * owns an entity, not the phase.
 */
export type Phase =
  /** Before the move, and after it was rolled back. */
  | 'old'
  /** Writes of the old side are copied to the new one. */
  | 'dual-writing'
  /** As before, while existing entities are copied. */
  | 'backfilling'
  /** As before, while both sides are compared. */
  | 'verifying'
  /** Entities are handed over to the new side, by every access and by a walk. */
  | 'cutting-over'
  /** The new side owns all entities, and its writes are copied to the old one. */
  | 'reading-new'
  /** Entities are handed back to the old side. */
  | 'rolling-back'
  /** The old side is no longer used. */
  | 'done';

/** How readers and writers behave in a phase. */
export interface PhasePlan {
  /** The side that is to own entities. */
  readonly wanted: Side;
  /** Whether writes are copied to the other side. */
  readonly mirrors: boolean;
  /** The side that queries read. */
  readonly queries: Side;
}

const plans: Readonly<Record<Phase, PhasePlan>> = {
  old: { wanted: 'old', mirrors: false, queries: 'old' },
  'dual-writing': { wanted: 'old', mirrors: true, queries: 'old' },
  backfilling: { wanted: 'old', mirrors: true, queries: 'old' },
  verifying: { wanted: 'old', mirrors: true, queries: 'old' },
  'cutting-over': { wanted: 'new', mirrors: true, queries: 'old' },
  'reading-new': { wanted: 'new', mirrors: true, queries: 'new' },
  'rolling-back': { wanted: 'old', mirrors: true, queries: 'new' },
  done: { wanted: 'new', mirrors: false, queries: 'new' },
};

export function planOf(phase: Phase): PhasePlan {
  return plans[phase];
}

export function isPhase(text: string): text is Phase {
  return Object.hasOwn(plans, text);
}
