import type { Bytes } from '../../base/bytes.js';
import { invariant, unreachable } from '../../base/invariant.js';
import type { Check, KeyRange, Put } from '../../kv/store.js';
import { dirtyRows, guardKey, mapKey, progressKey, rangeKey } from '../keys.js';
import { dataOf } from '../range-map.js';
import {
  encodeMapRow,
  encodeRangeRow,
  type GuardRow,
  type GuardState,
  type MoveRow,
  type MoveStep,
  type RangeRow,
  type Versioned,
} from '../rows.js';
import {
  assertOwn,
  changeGuard,
  heldRange,
  ownGuard,
  readGuard,
  releaseRange,
  takeGuard,
  writeGuard,
  type HeldOperation,
} from './held-operation.js';
import { dirtyRowsMax } from '../limits.js';
import {
  MoveMismatchError,
  MoveTooSlowError,
  ServedTwiceError,
  type OperationTools,
} from './tools.js';
import {
  copyLastDirtyRows,
  catchUp,
  copyPages,
  differingKeys,
  keysStillDiffering,
  deleteAll,
  raiseFloor,
  type Place,
} from './transfer.js';

/** Dirty rows that may be left when writes are paused: few, so that the pause is short. */
const smallRound = 100;
/** After so many full rounds in a row the remaining dirty rows are counted. */
const roundsEach = 100;
/** Rounds after which a move is cancelled whose target has not caught up. */
const roundsMax = 10_000;
/** Pages that are copied before dirty rows are, so that few of these collect. */
const pagesEach = 64;

/** How a move ended. */
export type MoveEnd = 'done' | 'cancelled';

/**
 * Carries out a move, from the step in its row on. Steps are idempotent, so that any of them may be
 * repeated. Rejects with `TakenOverError` as soon as another process has the operation.
 */
export class Mover {
  readonly #tools: OperationTools;
  readonly #held: HeldOperation<MoveRow>;
  readonly #range: RangeRow;
  /** Keys in which source and target differed when this process compared them during commits. */
  #suspects: readonly Bytes[] | undefined;
  /** Whether this process has raised the floor of the target. */
  #hasFloor = false;
  /** Why this process has cancelled the move. */
  #giveUp: Error | undefined;
  /** When this process paused writes and reads, if it has, in monotonic milliseconds. */
  #writesPausedMs: number | undefined;
  #readsPausedMs: number | undefined;

  constructor(tools: OperationTools, held: HeldOperation<MoveRow>, range: RangeRow) {
    this.#tools = tools;
    this.#held = held;
    this.#range = range;
  }

  async run(): Promise<MoveEnd> {
    for (let { step } = this.#held.row; ;) {
      this.#tools.onStep?.(step);
      this.#notePauses(step);
      const next = await this.#held.guarded(this.#carryOut(step));
      if (this.#giveUp !== undefined && next === undefined) throw this.#giveUp;
      if (next === undefined) return step === 'cancel' ? 'cancelled' : 'done';
      // `close` is not written into the row: writes wait, and a process that takes over starts
      // again from `catch up` anyhow. The switch has already written the next step.
      const isNoted = next === 'close' || next === this.#held.row.step;
      if (!isNoted) await this.#held.advance({ ...this.#held.row, step: next });
      step = next;
    }
  }

  /** Writes pause from `fence` on, reads from `close` on. */
  #notePauses(step: MoveStep): void {
    const nowMs = this.#tools.clock.monotonicMs();
    if (step === 'fence') this.#writesPausedMs = nowMs;
    if (step === 'close') this.#readsPausedMs = nowMs;
    if (step === 'close' || step === 'activate' || step === 'fence') return;
    const { counters } = this.#tools;
    if (this.#writesPausedMs !== undefined)
      counters?.notePause('write', nowMs - this.#writesPausedMs);
    if (this.#readsPausedMs !== undefined) counters?.notePause('read', nowMs - this.#readsPausedMs);
    this.#writesPausedMs = undefined;
    this.#readsPausedMs = undefined;
  }

  /**
   * Writes the token into both guards: writes of processes that had the operation before are
   * refused.
   */
  async takeGuards(): Promise<void> {
    const { source, target } = this.#held.row;
    for (const name of [source, target]) {
      await takeGuard(this.#tools.members.named(name), this.#range.id, this.#held);
    }
    // A process that was late may have taken the guard of a later operation. This write fails then.
    await this.#held.advance(this.#held.row);
  }

  /** The next step; undefined when the operation is over. */
  #carryOut(step: MoveStep): Promise<MoveStep | undefined> {
    switch (step) {
      case 'prepare':
        return this.#prepare();
      case 'log':
        return this.#log();
      case 'copy':
        return this.#copy();
      case 'catch up':
        return this.#catchUp();
      case 'fence':
        return this.#fence();
      case 'close':
        return this.#close();
      case 'activate':
        return this.#activate();
      case 'clean':
        return this.#clean();
      case 'cancel':
        return this.#cancel();
      case 'discard':
        return this.#discard();
      default:
        return unreachable(step);
    }
  }

  async #prepare(): Promise<MoveStep> {
    const { target } = this.#held.row;
    const store = this.#tools.members.named(target);
    if ((await readGuard(store, this.#range.id)) === undefined) {
      const change = { before: 'absent', row: this.#guardRow('incoming') } as const;
      const written = await writeGuard(store, this.#range.id, change);
      if (written === undefined) throw this.#held.takenOver();
      // This write fails for a process that was late: it must not delete data that may be served by
      // now. A process that takes over after this check finds the guard and takes it.
      await this.#held.advance(this.#held.row);
    }
    const place = await this.#target();
    await place.store.ingest({
      entries: [],
      deletes: [progressKey(this.#range.id)],
      floor: 0,
      guard: place.guard,
    });
    await this.#deleteAll(place, dataOf(this.#range));
    return 'log';
  }

  async #log(): Promise<MoveStep> {
    await this.#change(await this.#sourceGuard(['serving', 'logging']), 'logging');
    return 'copy';
  }

  async #copy(): Promise<MoveStep> {
    const [source, target] = [await this.#source(), await this.#target()];
    const data = dataOf(this.#range);
    const part = { range: this.#range.id, data, entriesMax: this.#tools.pageEntriesMax };
    const onPage = (bytes: number): Promise<void> => {
      this.#tools.onCopied?.(bytes);
      return this.#held.betweenPages();
    };
    for (let isMore = true; isMore;) {
      isMore = (await copyPages(source, target, { ...part, pagesMax: pagesEach, onPage })).more;
      if (isMore && !(await this.#catchUpClosely(source, target))) return 'cancel';
    }
    return 'catch up';
  }

  /**
   * Copies what dirty rows name until a round is small. False when commits write faster than that.
   */
  async #catchUpClosely(source: Place, target: Place): Promise<boolean> {
    const { pageEntriesMax: entriesMax, limits } = this.#tools;
    const small = Math.min(smallRound, entriesMax);
    const rowsMax = limits?.dirtyRowsMax ?? dirtyRowsMax;
    for (let rounds = 1; rounds <= roundsMax; rounds += 1) {
      await this.#held.renew();
      if ((await catchUp(source, target, { range: this.#range.id, entriesMax })) < small)
        return true;
      await this.#tools.giveWay?.();
      if (rounds % roundsEach > 0) continue;
      const { store, guard } = source;
      if ((await store.sample(dirtyRows(this.#range.id), 0, { guard })).keys > rowsMax) break;
    }
    this.#giveUp = new MoveTooSlowError(this.#held.row.id, rowsMax);
    return false;
  }

  async #catchUp(): Promise<MoveStep> {
    const [source, target] = [await this.#source(), await this.#target()];
    const part = { range: this.#range.id, entriesMax: this.#tools.pageEntriesMax };
    for (;;) {
      if (!(await this.#catchUpClosely(source, target))) return 'cancel';
      if (this.#suspects !== undefined) return 'fence';
      const onPage = () => this.#held.betweenPages();
      const compared = { data: dataOf(this.#range), onPage };
      this.#suspects = await differingKeys(source, target, { ...part, ...compared });
    }
  }

  /** Writes pause from here on. */
  async #fence(): Promise<MoveStep> {
    const beganMs = this.#tools.clock.monotonicMs();
    const before = await this.#sourceGuard(['logging', 'fenced', 'moved']);
    const suspects = this.#suspects;
    if (suspects === undefined) {
      // The process that compared the stores has died, and its result is lost: compare them again.
      if (before.row.state !== 'logging') await this.#change(before, 'logging');
      return 'catch up';
    }
    if (before.row.state === 'logging') await this.#change(before, 'fenced');
    const [source, target] = [await this.#source(), await this.#target()];
    const { clock, pauseMillisMax, pageEntriesMax: entriesMax } = this.#tools;
    const isTooLong = () => clock.monotonicMs() - beganMs > pauseMillisMax;
    const part = { range: this.#range.id, entriesMax, isTooLong };
    if (!(await copyLastDirtyRows(source, target, part))) {
      await this.#change(await this.#sourceGuard(['fenced']), 'logging');
      return 'catch up';
    }
    const { length } = await keysStillDiffering(source, target, suspects);
    if (length === 0) return 'close';
    this.#giveUp = new MoveMismatchError(this.#held.row.id, length);
    return 'cancel';
  }

  /** Reads pause from here on. The version of the guard is above those of all commits. */
  async #close(): Promise<MoveStep> {
    const before = await this.#sourceGuard(['fenced', 'moved']);
    const guard = before.row.state === 'moved' ? before : await this.#change(before, 'moved');
    const target = await this.#target();
    // Both at once. A process that takes over after the switch cannot know whether the floor was
    // raised, and raises it again.
    await Promise.all([this.#switch(guard.version), raiseFloor(target, guard.version)]);
    this.#hasFloor = true;
    return 'activate';
  }

  /** The switch: one commit after which the range belongs to the target. */
  async #switch(floor: number): Promise<void> {
    const { row } = this.#held;
    for (let isWritten = false; !isWritten;) {
      const range = await this.#rangeRow();
      // An operation on other ranges may change the row of the map; the commit is tried again then.
      const map = await this.#tools.catalogue.mapRow();
      const moved = { ...range.row, store: row.target, epoch: range.row.epoch + 1 };
      const checks: Check[] = [
        { key: rangeKey(moved.id), version: range.version },
        { key: mapKey, version: map.version },
      ];
      const version = map.row.version + 1;
      const puts: Put[] = [
        { key: rangeKey(moved.id), value: encodeRangeRow(moved) },
        { key: mapKey, value: encodeMapRow({ ...map.row, version }) },
      ];
      isWritten = await this.#held.advance({ ...row, step: 'activate', floor }, { checks, puts });
    }
  }

  async #activate(): Promise<MoveStep> {
    const { target, floor } = this.#held.row;
    const store = this.#tools.members.named(target);
    const before = await readGuard(store, this.#range.id);
    if (before === undefined) throw this.#held.takenOver();
    if (before.row.state !== 'incoming') return 'clean';
    assertOwn(before, this.#held);
    if (!this.#hasFloor) await raiseFloor(this.#place(store, before), floor);
    const { epoch } = (await this.#rangeRow()).row;
    const row = { ...this.#guardRow('serving'), epoch };
    const change = { before: before.version, row, deletes: [progressKey(this.#range.id)] };
    if ((await writeGuard(store, this.#range.id, change)) === undefined) {
      throw this.#held.takenOver();
    }
    return 'clean';
  }

  async #clean(): Promise<undefined> {
    const { source } = this.#held.row;
    const store = this.#tools.members.named(source);
    if ((await readGuard(store, this.#range.id)) !== undefined) {
      const place = await this.#source();
      await this.#sourceGuard(['moved']);
      await this.#deleteAll(place, dataOf(this.#range));
      await deleteAll(place, dirtyRows(this.#range.id));
      await this.#removeGuard(place);
    }
    await this.#finish();
    return undefined;
  }

  /** Undoes the move: first the source serves again, because calls wait for it. */
  async #cancel(): Promise<undefined> {
    const { source, target } = this.#held.row;
    const [from, to] = [source, target].map((name) => this.#tools.members.named(name));
    invariant(from !== undefined && to !== undefined, 'a move has two stores');
    const before = await this.#sourceGuard(['serving', 'logging', 'fenced', 'moved']);
    const serving = before.row.state === 'serving' ? before : await this.#change(before, 'serving');
    await deleteAll(this.#place(from, serving), dirtyRows(this.#range.id));
    const incoming = await readGuard(to, this.#range.id);
    if (incoming !== undefined) {
      assertOwn(incoming, this.#held);
      const place = this.#place(to, incoming);
      await this.#deleteAll(place, dataOf(this.#range));
      await this.#removeGuard(place, [progressKey(this.#range.id)]);
    }
    await this.#finish();
    return undefined;
  }

  /** Deletes what the target has of a range that the source serves. */
  async #discard(): Promise<undefined> {
    const { target } = this.#held.row;
    await this.#sourceGuard(['serving']);
    const store = this.#tools.members.named(target);
    const left = await readGuard(store, this.#range.id);
    if (left !== undefined && left.row.state !== 'incoming') {
      assertOwn(left, this.#held);
      if (left.row.state !== 'moved') {
        this.#giveUp = new ServedTwiceError(this.#range.id, target);
        await this.#finish();
        return undefined;
      }
      await changeGuard(store, this.#range, this.#held, { before: left, state: 'incoming' });
    }
    await this.#prepare();
    await deleteAll(await this.#target(), dirtyRows(this.#range.id));
    return this.#cancel();
  }

  #deleteAll(place: Place, keys: KeyRange): Promise<void> {
    return deleteAll(place, keys, () => this.#held.betweenPages());
  }

  #finish(): Promise<void> {
    return releaseRange(this.#tools, this.#held, this.#range.id);
  }

  async #removeGuard({ store, guard }: Place, more: readonly Bytes[] = []): Promise<void> {
    const checks = [{ key: guard.key, version: guard.version }];
    const result = await store.fence({ checks, puts: [], deletes: [guard.key, ...more] });
    if (!result.ok) throw this.#held.takenOver();
  }

  #rangeRow(): Promise<Versioned<RangeRow>> {
    return heldRange(this.#tools, this.#held, this.#range.id);
  }

  #guardRow(state: GuardState): GuardRow {
    const { id, token } = this.#held.row;
    return { state, epoch: this.#range.epoch, operation: id, token };
  }

  async #source(): Promise<Place> {
    const store = this.#tools.members.named(this.#held.row.source);
    return this.#place(store, await this.#sourceGuard(['logging', 'fenced', 'moved']));
  }

  async #target(): Promise<Place> {
    const store = this.#tools.members.named(this.#held.row.target);
    const guard = await readGuard(store, this.#range.id);
    if (guard?.row.state !== 'incoming') throw this.#held.takenOver();
    assertOwn(guard, this.#held);
    return this.#place(store, guard);
  }

  #place(store: Place['store'], { version }: Versioned<GuardRow>): Place {
    return { store, guard: { key: guardKey(this.#range.id), version } };
  }

  /** The guard of the source, which must be in one of the given states. */
  #sourceGuard(states: readonly GuardState[]): Promise<Versioned<GuardRow>> {
    const store = this.#tools.members.named(this.#held.row.source);
    return ownGuard(store, this.#range.id, this.#held, states);
  }

  #change(before: Versioned<GuardRow>, state: GuardState): Promise<Versioned<GuardRow>> {
    const store = this.#tools.members.named(this.#held.row.source);
    return changeGuard(store, this.#range, this.#held, { before, state });
  }
}
