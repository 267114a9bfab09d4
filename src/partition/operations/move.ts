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
  bringLastNotes,
  catchUp,
  copyPages,
  differingKeys,
  keysStillDiffering,
  emptyOut,
  raiseFloor,
  type Place,
} from './transfer.js';

/** Notes that are left when writes may pause: few, so that the pause is short. */
const smallRound = 100;
/** Notes are counted when so many full rounds in a row have not brought them to their end. */
const roundsEach = 100;
/** Rounds in which the target may fail to catch up, before the move is cancelled. */
const roundsMax = 10_000;
/** Pages that are copied before notes are brought, so that these stay few. */
const pagesEach = 64;

/** How a move ended. */
export type MoveEnd = 'done' | 'cancelled';

/**
 * Carries out a move from the step that its row says. Each step may be repeated: what it writes is
 * the same the second time, or is there already. Rejects with `TakenOverError` as soon as another
 * process has the operation.
 */
export class Mover {
  readonly #tools: OperationTools;
  readonly #held: HeldOperation<MoveRow>;
  readonly #range: RangeRow;
  /** Keys that differed when this process compared the stores, while commits went on. */
  #suspects: readonly Bytes[] | undefined;
  /** This process has told the target how high its versions have to be. */
  #hasFloor = false;
  /** Why this process has cancelled the move. */
  #giveUp: Error | undefined;
  /** When this process has made them wait, if it has. */
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
      // Writes wait, so `close` is not noted: whoever takes over goes back from there. The switch has
      // written its row itself.
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

  /** From here on, writes of processes that had the operation before are refused. */
  async takeGuards(): Promise<void> {
    const { source, target } = this.#held.row;
    for (const name of [source, target]) {
      await takeGuard(this.#tools.members.named(name), this.#range.id, this.#held);
    }
    // A late process may have found the guard of an even later one, of a range that is no more.
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
      // A process that was late would empty what may be in use by now. Whoever takes over after
      // this check finds the guard and takes it.
      await this.#held.advance(this.#held.row);
    }
    const place = await this.#target();
    await place.store.ingest({
      entries: [],
      deletes: [progressKey(this.#range.id)],
      floor: 0,
      guard: place.guard,
    });
    await this.#emptyOut(place, dataOf(this.#range));
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
      if (isMore && !(await this.#bringNotes(source, target))) return 'cancel';
    }
    return 'catch up';
  }

  /** Brings notes until a round is small. False: they come faster than they are brought. */
  async #bringNotes(source: Place, target: Place): Promise<boolean> {
    const { pageEntriesMax: entriesMax, limits } = this.#tools;
    const small = Math.min(smallRound, entriesMax);
    const notesMax = limits?.dirtyRowsMax ?? dirtyRowsMax;
    for (let rounds = 1; rounds <= roundsMax; rounds += 1) {
      await this.#held.renew();
      if ((await catchUp(source, target, { range: this.#range.id, entriesMax })) < small)
        return true;
      await this.#tools.giveWay?.();
      if (rounds % roundsEach > 0) continue;
      const { store, guard } = source;
      if ((await store.sample(dirtyRows(this.#range.id), 0, { guard })).keys > notesMax) break;
    }
    this.#giveUp = new MoveTooSlowError(this.#held.row.id, notesMax);
    return false;
  }

  async #catchUp(): Promise<MoveStep> {
    const [source, target] = [await this.#source(), await this.#target()];
    const part = { range: this.#range.id, entriesMax: this.#tools.pageEntriesMax };
    for (;;) {
      if (!(await this.#bringNotes(source, target))) return 'cancel';
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
      // Another process has compared the stores, and is gone with what it knew.
      if (before.row.state !== 'logging') await this.#change(before, 'logging');
      return 'catch up';
    }
    if (before.row.state === 'logging') await this.#change(before, 'fenced');
    const [source, target] = [await this.#source(), await this.#target()];
    const { clock, pauseMillisMax, pageEntriesMax: entriesMax } = this.#tools;
    const isTooLong = () => clock.monotonicMs() - beganMs > pauseMillisMax;
    const part = { range: this.#range.id, entriesMax, isTooLong };
    if (!(await bringLastNotes(source, target, part))) {
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
    // A process that takes over after the switch does not know whether the target has the floor.
    await Promise.all([this.#switch(guard.version), raiseFloor(target, guard.version)]);
    this.#hasFloor = true;
    return 'activate';
  }

  /** The commit that decides: from here on the range is at the target. */
  async #switch(floor: number): Promise<void> {
    const { row } = this.#held;
    for (let isWritten = false; !isWritten;) {
      const range = await this.#rangeRow();
      // Operations on other ranges change the map as well.
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
      await this.#emptyOut(place, dataOf(this.#range));
      await emptyOut(place, dirtyRows(this.#range.id));
      await this.#removeGuard(place);
    }
    await this.#finish();
    return undefined;
  }

  /** What was done is undone: the source first, because calls wait for it. */
  async #cancel(): Promise<undefined> {
    const { source, target } = this.#held.row;
    const [from, to] = [source, target].map((name) => this.#tools.members.named(name));
    invariant(from !== undefined && to !== undefined, 'a move has two stores');
    const before = await this.#sourceGuard(['serving', 'logging', 'fenced', 'moved']);
    const serving = before.row.state === 'serving' ? before : await this.#change(before, 'serving');
    await emptyOut(this.#place(from, serving), dirtyRows(this.#range.id));
    const incoming = await readGuard(to, this.#range.id);
    if (incoming !== undefined) {
      assertOwn(incoming, this.#held);
      const place = this.#place(to, incoming);
      await this.#emptyOut(place, dataOf(this.#range));
      await this.#removeGuard(place, [progressKey(this.#range.id)]);
    }
    await this.#finish();
    return undefined;
  }

  /** The target has a part of a range that the source serves. That part goes. */
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
    await emptyOut(await this.#target(), dirtyRows(this.#range.id));
    return this.#cancel();
  }

  #emptyOut(place: Place, keys: KeyRange): Promise<void> {
    return emptyOut(place, keys, () => this.#held.betweenPages());
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

  /** The guard of the source, in one of the states that the step may find. */
  #sourceGuard(states: readonly GuardState[]): Promise<Versioned<GuardRow>> {
    const store = this.#tools.members.named(this.#held.row.source);
    return ownGuard(store, this.#range.id, this.#held, states);
  }

  #change(before: Versioned<GuardRow>, state: GuardState): Promise<Versioned<GuardRow>> {
    const store = this.#tools.members.named(this.#held.row.source);
    return changeGuard(store, this.#range, this.#held, { before, state });
  }
}
