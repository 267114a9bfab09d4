import { systemRandomness } from '../../../base/randomness.js';
import { ModelError } from '../../rows/model-error.js';
import type { Row } from '../../rows/row.js';
import { copyDifference, type CopyDifference } from '../../rows/same-value.js';
import {
  isConflictOrLost,
  retryConflicts,
  type ContentionOptions,
} from '../../table/contention.js';
import { ContentionError, isAmbiguous } from '../../table/errors.js';
import { hasStamp, newStamp, stamped } from '../../table/write-stamp.js';
import { storedText, textIn } from '../../rows/row-parts.js';
import { isOpen, markNames } from './move-mark.js';
import type { Content, MoveKeys, MoveSide, SideState } from './move-side.js';
import type { PhasePlan, Side } from './phase.js';

/** Returns the plan of the phase: as known, or, if doubted, read again from the control row. */
export type CurrentPlan = (isDoubted: boolean) => Promise<PhasePlan>;

/** The result of a write's decision: another entity, none, or no change. A rejection refuses it. */
export type Decision = (current: Content) => Promise<Row | 'delete' | 'keep'>;

/** Both rows of a key, and which of them owns the entity. */
interface Pair {
  /**
   * The row that owns the entity. During a handover, its future state, in which the next write
   * opens it.
   */
  readonly authority: SideState;
  readonly isPending: boolean;
  /** Whether the row that will own the entity has another content still. */
  readonly isBehind: boolean;
  /** Undefined when it was not read. */
  readonly other: SideState | undefined;
}

type Both = Readonly<Record<Side, SideState>>;

export interface MovingRowsOptions extends ContentionOptions {
  /** Called for a copy that could not be written, although the write itself was applied. */
  readonly onCopyBehind: (keys: MoveKeys, error: unknown) => void;
}

/**
 * The rows of a move, by key. Every write is conditional on the ETag of the row it replaces, and
 * the row of the other side is always read before the one it is copied from. So the row that owns
 * the entity is never overwritten, and a copy never becomes older, whatever crashes or stalls.
 */
export class MovingRows {
  readonly #sides: Readonly<Record<Side, MoveSide>>;
  readonly #options: MovingRowsOptions;

  constructor(sides: Readonly<Record<Side, MoveSide>>, options: MovingRowsOptions) {
    this.#sides = sides;
    this.#options = options;
  }

  /** The content of an entity. One point read; up to three when the wanted side does not own it. */
  async look(keys: MoveKeys, { wanted, mirrors }: PhasePlan): Promise<Content> {
    const first = await this.#sides[wanted].look(keys);
    if (isDeciding(first, mirrors)) return first.content;
    if (wanted === 'old') {
      return pairOf({ old: first, new: await this.#sides.new.look(keys) }).authority.content;
    }
    const old = await this.#sides.old.look(keys);
    if (isOpen('old', old.epoch)) return old.content;
    // It may have been handed over between the two reads.
    return pairOf({ old, new: await this.#sides.new.look(keys) }).authority.content;
  }

  /**
   * Changes an entity, starting again after a conflict. Resolves with the new state. Two point
   * reads and two writes, one each when nothing is copied; two more of each when the entity must be
   * handed over. An entity that is too large for the new side can be deleted and made smaller.
   * Throws `TooLargeError` when it stays too large, or must be handed over.
   */
  async change(keys: MoveKeys, current: CurrentPlan, decide: Decision): Promise<Content> {
    const { randomness = systemRandomness } = this.#options;
    const stamps: string[] = [];
    let hasDeleted = false;
    const outcome = await this.#contended(keys, async () => {
      const plan = await current(false);
      const { authority, other } = await this.#caughtUp(
        keys,
        await this.#pair(keys, plan, current),
      );
      const { content, side, epoch } = authority;
      const isApplied =
        hasStamp(asRow(content.stamps), markNames.stamps, stamps) ||
        (hasDeleted && content.entityRow === undefined);
      if (isApplied) return { content };
      const decision = await refusable(() => decide(content));
      if ('refusal' in decision) return decision;
      if (decision.made === 'keep') return { content };
      const entityRow = decision.made === 'delete' ? undefined : decision.made;
      this.#refuseTooLarge(entityRow);
      const stamp = newStamp(randomness);
      stamps.push(stamp);
      hasDeleted ||= entityRow === undefined;
      const next = { entityRow, tag: '', stamps: withStamp(content.stamps, stamp), timestamp: 0n };
      const written = await this.#sides[side].write({
        keys,
        before: authority,
        content: next,
        epoch,
      });
      if (other !== undefined) await this.#copy(keys, written, epoch, other);
      return { content: written.content };
    });
    if ('refusal' in outcome) throw outcome.refusal;
    return outcome.content;
  }

  /**
   * Makes a side own an entity. Two point reads, and two writes unless it owns it already. Returns
   * whether anything was written. Throws `ModelError` for a row of the new side that is no copy.
   */
  async handOver(keys: MoveKeys, to: Side): Promise<boolean> {
    let hasChanged = false;
    await this.#contended(keys, async () => {
      const both = await this.#readBoth(keys);
      if (isInTheWay(both) && !both.new.isMarked) throw foreign(keys);
      let pair = pairOf(both);
      if (pair.authority.side !== to) {
        hasChanged = true;
        pair = await this.#pass(keys, pair);
      }
      if (pair.isPending) hasChanged = true;
      await this.#open(keys, pair);
    });
    return hasChanged;
  }

  /**
   * Copies an entity for the first time, as it was read, with one insert. When the row exists, as
   * `compare`.
   */
  async fill(keys: MoveKeys, read: SideState): Promise<boolean> {
    const to = this.#sides.new;
    const { content, epoch } = read;
    try {
      // An absent row was never written, so nothing newer is overwritten.
      await to.write({ keys, before: to.absent(), content, epoch, copied: content });
      return true;
    } catch (error) {
      if (!isConflictOrLost(error)) throw error;
      return (await this.compare(keys)) !== undefined;
    }
  }

  /**
   * Corrects the copy of an entity: two point reads, and a write when it differs; starts again
   * after a conflict. Returns the difference. Throws `ModelError` for a row of the new side that is
   * no copy.
   */
  compare(keys: MoveKeys): Promise<CopyDifference | undefined> {
    return this.#contended(keys, async () => {
      const firstNew = await this.#sides.new.read(keys);
      const old = await this.#sides.old.read(keys);
      if (isOpen('old', old.epoch)) {
        if (isInTheWay({ old, new: firstNew })) throw foreign(keys);
        return this.#mend(keys, old, firstNew);
      }
      const next = await this.#sides.new.read(keys);
      if (isOpen('new', next.epoch)) return this.#mend(keys, next, old);
      await this.#open(keys, pairOf({ old, new: next }));
      return undefined;
    });
  }

  async #mend(keys: MoveKeys, from: SideState, to: SideState): Promise<CopyDifference | undefined> {
    const wanted = from.content.entityRow;
    const normal = wanted && this.#sides[to.side].normal(wanted);
    const difference = copyDifference(normal, to.content.entityRow);
    const isSame = to.epoch === from.epoch && to.content.tag === from.content.tag;
    if (difference === undefined && isSame) return undefined;
    const { content, epoch } = from;
    await this.#sides[to.side].write({ keys, before: to, content, epoch, copied: content });
    return difference;
  }

  /** The rows of a key, after making the wanted side the owner. */
  async #pair(keys: MoveKeys, plan: PhasePlan, current: CurrentPlan): Promise<Pair> {
    if (!plan.mirrors) {
      const authority = await this.#sides[plan.wanted].look(keys);
      if (isDeciding(authority, false)) {
        const how = { isPending: false, isBehind: false, other: undefined };
        return { authority: opened(authority), ...how };
      }
    }
    const pair = pairOf(await this.#lookAtBoth(keys));
    if (pair.authority.side === plan.wanted) return pair;
    // The rows may be in a later phase than this program knows.
    const { wanted } = await current(true);
    return pair.authority.side === wanted ? pair : this.#pass(keys, pair);
  }

  async #lookAtBoth(keys: MoveKeys): Promise<Both> {
    const [before, after] = await Promise.all([
      this.#sides.old.look(keys),
      this.#sides.new.look(keys),
    ]);
    return { old: before, new: after };
  }

  async #readBoth(keys: MoveKeys): Promise<Both> {
    const [before, after] = await Promise.all([
      this.#sides.old.read(keys),
      this.#sides.new.read(keys),
    ]);
    return { old: before, new: after };
  }

  /**
   * The rows of a key before a change. A row that will own the entity and lacks its content gets
   * the content first, because announcements of a change are made from that row and need the former
   * state.
   */
  async #caughtUp(keys: MoveKeys, pair: Pair): Promise<Pair> {
    if (!pair.isBehind) return pair;
    return { ...pair, authority: await this.#opened(keys, pair), isPending: false };
  }

  /** Throws `TooLargeError` for an entity that exceeds the limits of the new side. */
  #refuseTooLarge(entityRow: Row | undefined): void {
    if (entityRow !== undefined) this.#sides.new.normal(entityRow);
  }

  /** Ends a handover: opens the row that will own the entity. */
  async #open(keys: MoveKeys, pair: Pair): Promise<void> {
    if (pair.isPending) await this.#opened(keys, pair);
  }

  #opened(keys: MoveKeys, { authority }: Pair): Promise<SideState> {
    const { side, content, epoch } = authority;
    return this.#sides[side].write({ keys, before: authority, content, epoch, copied: content });
  }

  /**
   * Begins a handover: closes the row that owns the entity. Nothing can be written there any more.
   */
  async #pass(keys: MoveKeys, { authority: from, other }: Pair): Promise<Pair> {
    if (from.side === 'new' && from.etag !== undefined && !from.isMarked) throw foreign(keys);
    const epoch = from.epoch + 1;
    const { content } = from;
    this.#refuseTooLarge(content.entityRow);
    const closing = { keys, before: from, content, epoch, copied: content };
    const closed = await this.#sides[from.side].write(closing);
    const to = other ?? (await this.#sides[from.side === 'old' ? 'new' : 'old'].read(keys));
    return pendingPair(to, closed);
  }

  /** The write is applied; its copy may follow later. */
  async #copy(keys: MoveKeys, from: SideState, epoch: number, to: SideState): Promise<void> {
    if (isOpen(to.side, to.epoch) && to.etag !== undefined) return;
    const { content } = from;
    try {
      await this.#sides[to.side].write({ keys, before: to, content, epoch, copied: content });
    } catch (error) {
      if (!isConflictOrLost(error)) throw error;
      try {
        await this.compare(keys);
      } catch (behind) {
        if (!(behind instanceof ModelError)) throw behind;
        this.#options.onCopyBehind(keys, behind);
      }
    }
  }

  async #contended<T>(keys: MoveKeys, attempt: () => Promise<T>): Promise<T> {
    try {
      return await retryConflicts(describe(keys), this.#options, attempt, isConflictOrLost);
    } catch (error) {
      if (error instanceof ContentionError && isAmbiguous(error.cause)) throw error.cause;
      throw error;
    }
  }
}

/**
 * True when a row alone shows that its side owns the entity. Without copies, missing rows are never
 * closed.
 */
function isDeciding({ side, epoch, etag }: SideState, mirrors: boolean): boolean {
  return isOpen(side, epoch) || (!mirrors && side === 'new' && etag === undefined);
}

/**
 * A missing row of the new side, when only that side is used, is written with the first odd epoch.
 */
function opened(state: SideState): SideState {
  return isOpen(state.side, state.epoch) ? state : { ...state, epoch: 1 };
}

function pairOf(both: Both): Pair {
  if (isOpen('new', both.new.epoch)) {
    return { authority: both.new, isPending: false, isBehind: false, other: both.old };
  }
  if (isOpen('old', both.old.epoch)) {
    return { authority: both.old, isPending: false, isBehind: false, other: both.new };
  }
  const [from, to] = both.new.epoch > both.old.epoch ? [both.new, both.old] : [both.old, both.new];
  return pendingPair(to, from);
}

/** A handover that has begun: `closed` is the row that owned the entity. */
function pendingPair(to: SideState, closed: SideState): Pair {
  const { content, epoch } = closed;
  const authority = { ...to, epoch, content, isMarked: true };
  const isBehind = to.content.tag !== content.tag;
  return { authority, isPending: true, isBehind, other: closed };
}

/** Whether the new side has a row that is no copy, although the old side owns the entity. */
function isInTheWay({ old, new: next }: Both): boolean {
  return isOpen('old', old.epoch) && isOpen('new', next.epoch) && next.etag !== undefined;
}

function foreign(keys: MoveKeys): ModelError {
  return new ModelError(`${describe(keys)}: the new row was not written by this move`);
}

async function refusable<T>(
  decide: () => Promise<T>,
): Promise<{ readonly made: T } | { readonly refusal: unknown }> {
  try {
    return { made: await decide() };
  } catch (refusal) {
    return { refusal };
  }
}

function asRow(stamps: string): Row {
  return { partitionKey: '', rowKey: '', properties: { [markNames.stamps]: storedText(stamps) } };
}

function withStamp(earlier: string, stamp: string): string {
  const { properties } = stamped(asRow(earlier), markNames.stamps, stamp);
  return textIn(properties, markNames.stamps) ?? '';
}

function describe({ old, new: next }: MoveKeys): string {
  const name = ({ partitionKey, rowKey }: MoveKeys[Side]) => `('${partitionKey}', '${rowKey}')`;
  return `${name(old)}, to be ${name(next)}`;
}
