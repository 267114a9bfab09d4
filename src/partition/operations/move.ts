import { unreachable } from '../../base/invariant.js';
import { GuardError, StoreClosedError } from '../../kv/errors.js';
import type { SizedKey } from '../../kv/sized-keys.js';
import type { KeyRange } from '../../kv/store.js';
import { dirtyRows, progressKey } from '../keys.js';
import { isMember } from '../membership.js';
import { answered, answeringMember, answeringStore, type AskedMember } from '../reach.js';
import { dataOf } from '../range-map.js';
import {
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
  takeGuardInTime,
  writeGuard,
  type HeldOperation,
} from './held-operation.js';
import {
  claimTarget,
  clearTarget,
  emptyTarget,
  isMove,
  removeGuard,
  type HeldMove,
} from './move-target.js';
import { PauseTimes } from './pause-times.js';
import { assertRoom, NoRoomError } from './room.js';
import { catchUpClosely, dirtyRowsMaxOf, isTooFarBehind, pagesEach } from './catching-up.js';
import {
  StoreLocationMismatchError,
  MoveMismatchError,
  MoveTooSlowError,
  ServedTwiceError,
  TakenOverError,
  TargetNotEmptiedError,
  stepsBeforeSwitch,
  type OperationEnd,
  type OperationTools,
} from './tools.js';
import { switchRows, switchToTarget, type SwitchRows } from './switching.js';
import {
  copyLastDirtyRows,
  copyPages,
  differingKeys,
  keysStillDiffering,
  deleteAll,
  deleteInSteps,
  guardedStore,
  raiseFloor,
  type GuardedStore,
  type GuardedTarget,
} from './transfer.js';

/** The target behind the switch: its guard is still `incoming`. */
interface Switched {
  readonly target: GuardedStore;
  /** Of the range. */
  readonly epoch: number;
}

/**
 * Carries out a move, from the step in its row on. Steps are idempotent, so that any of them may be
 * repeated. Rejects with `TakenOverError` as soon as another process has the operation.
 */
export class Mover {
  readonly #tools: OperationTools;
  readonly #held: HeldOperation<MoveRow>;
  readonly #range: RangeRow;
  readonly #pauses: PauseTimes;
  /** The stores whose guards have the token of this process. */
  readonly #taken = new Set<string>();
  /** Keys in which source and target differed when this process compared them during commits. */
  #suspects: readonly SizedKey[] | undefined;
  /** What this process has read and written when it paused writes. */
  #fenced: { readonly fenced: Versioned<GuardRow>; readonly rows: SwitchRows } | undefined;
  /** Set when this process has switched. */
  #switched: Switched | undefined;
  /** Whether this process has raised the floor of the target. */
  #hasFloor = false;
  /** Why this process has cancelled the move. */
  #giveUp: Error | undefined;

  constructor(tools: OperationTools, held: HeldOperation<MoveRow>, range: RangeRow) {
    this.#tools = tools;
    this.#held = held;
    this.#range = range;
    this.#pauses = new PauseTimes(tools);
  }

  async run(): Promise<OperationEnd> {
    await this.#held.guarded(this.#takeSource());
    for (let { step } = this.#held.row; ;) {
      this.#tools.onStep?.(step);
      const next = await this.#tried(step);
      if (this.#giveUp !== undefined && next === undefined) throw this.#giveUp;
      if (next === undefined) return step === 'cancel' ? 'cancelled' : 'done';
      // `close` is not written into the row: writes wait, and a process that takes over starts
      // again from `catch up` anyhow. The switch has already written the next step.
      const isNoted = next === 'close' || next === this.#held.row.step;
      if (!isNoted) await this.#held.advance({ ...this.#held.row, step: next });
      step = next;
    }
  }

  /**
   * Takes the guard of the source alone: until the switch it has the range, and must serve even
   * when the target is away. Writes of the former process to the target do no harm, because no step
   * relies on the target before its guard is taken as well.
   */
  async #takeSource(): Promise<void> {
    const { step, source } = this.#held.row;
    // From the switch on calls wait for the target, and the source is only cleaned.
    if (step === 'activate' || step === 'clean') return;
    await this.#take(source);
    if (stepsBeforeSwitch.has(step)) await this.#endPause();
  }

  /**
   * Writes the token into a guard, once, so that the guard refuses processes that had the operation
   * before. Throws `StoreLocationMismatchError` for another store by this name: it has no guard of
   * this move, and its data must not be deleted.
   */
  async #take(name: string): Promise<void> {
    if (this.#taken.has(name)) return;
    const { members, timers } = this.#tools;
    const isSame = await isMember(members, name, timers);
    if (!isSame) throw new StoreLocationMismatchError(this.#held.row.id, name);
    await takeGuardInTime(this.#tools, this.#held, { store: name, range: this.#range.id });
    this.#taken.add(name);
  }

  /**
   * Makes the source serve reads and writes again and log the writes. For steps before the switch.
   */
  async #endPause(): Promise<Versioned<GuardRow>> {
    const guard = await this.#sourceGuard(['serving', 'logging', 'fenced', 'moved']);
    const isPaused = guard.row.state === 'fenced' || guard.row.state === 'moved';
    return isPaused ? this.#change(guard, 'logging') : guard;
  }

  async #tried(step: MoveStep): Promise<MoveStep | undefined> {
    try {
      return await this.#held.guarded(this.#carryOut(step));
    } catch (error) {
      // The row tells whether the switch has happened.
      const isOver = error instanceof TakenOverError || error instanceof StoreClosedError;
      if (isOver || !stepsBeforeSwitch.has(this.#held.row.step)) throw error;
      if (!(error instanceof NoRoomError)) return this.#afterFailure(error);
      this.#giveUp = error;
      return 'cancel';
    }
  }

  /**
   * Makes the source serve until the failed step is tried again, so that no call waits for a faulty
   * target. Throws the failure. Returns `cancel` when too many writes came meanwhile, and
   * `activate` when the range was switched although the answer said nothing of it.
   */
  async #afterFailure(failure: unknown): Promise<MoveStep> {
    try {
      // Fails when the switch was applied after all. Otherwise a switch that is still under way is
      // refused, because it demands the former row.
      await this.#held.advance(this.#held.row);
      const { row, version } = await this.#held.guarded(this.#endPause());
      this.#pauses.end();
      if (row.state === 'logging') {
        const source = this.#guardedStore(this.#held.row.source, { version });
        if (await this.#held.guarded(isTooFarBehind(this.#tools, source, this.#range.id))) {
          this.#giveUp = this.#tooSlow(failure);
          // It may be silent, so it is asked with a limit. `emptyTarget` refuses what is under way.
          this.#taken.delete(this.#held.row.target);
          return 'cancel';
        }
      }
    } catch (error) {
      if (error instanceof TakenOverError) {
        // The answer of the switch may be lost: then the row has what this process has written.
        const isOwn = await this.#held.reread(isMove);
        if (isOwn && this.#held.row.step === 'activate') return 'activate';
        throw error;
      }
      // The source or the catalogue is away too. The next process that takes over ends the pause.
    }
    throw failure;
  }

  /** The next step; undefined when the operation is over. */
  async #carryOut(step: MoveStep): Promise<MoveStep | undefined> {
    // The source of a cancelled move serves first, and is cleaned without asking the target.
    if (step !== 'cancel' && step !== 'clean') await this.#take(this.#held.row.target);
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
    if ((await this.#claimTarget()) === 'serves') return 'cancel';
    await clearTarget(this.#move, await this.#target());
    return 'log';
  }

  /** As `claimTarget`. When the target serves the range too, the operation ends without it. */
  async #claimTarget(): Promise<'incoming' | 'serves'> {
    const claimed = await claimTarget(this.#move);
    if (claimed === 'serves') {
      this.#giveUp = new ServedTwiceError(this.#range.id, this.#held.row.target);
    }
    return claimed;
  }

  async #log(): Promise<MoveStep> {
    await this.#change(await this.#sourceGuard(['serving', 'logging']), 'logging');
    return 'copy';
  }

  async #copy(): Promise<MoveStep> {
    const [source, target] = [await this.#source(), await this.#target()];
    const data = dataOf(this.#range);
    const part = { range: this.#range.id, data, entriesMax: this.#tools.pageEntriesMax };
    const onPage = async (bytes: number): Promise<void> => {
      this.#tools.onCopied?.(bytes);
      await assertRoom(this.#tools.members, this.#held.row.target);
      return this.#held.betweenPages();
    };
    for (let isMore = true; isMore;) {
      isMore = (await copyPages(source, target, { ...part, pagesMax: pagesEach, onPage })).more;
      if (isMore && !(await this.#catchUpClosely(source, target))) return 'cancel';
    }
    return 'catch up';
  }

  /** False when commits write faster than the target catches up. */
  async #catchUpClosely(source: GuardedStore, target: GuardedStore): Promise<boolean> {
    const onRound = () => assertRoom(this.#tools.members, this.#held.row.target);
    const part = { range: this.#range.id, source, target, onRound };
    if (await catchUpClosely(this.#tools, this.#held, part)) return true;
    this.#giveUp = this.#tooSlow();
    return false;
  }

  #tooSlow(failure?: unknown): MoveTooSlowError {
    return new MoveTooSlowError(this.#held.row.id, dirtyRowsMaxOf(this.#tools), failure);
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
    const suspects = this.#suspects;
    // The process that compared the stores has died, and its result is lost: compare them again.
    if (suspects === undefined) return 'catch up';
    // All that the steps until the target serves would have to read while calls wait.
    const [logging, target, rows] = await Promise.all([
      this.#sourceGuard(['logging']),
      this.#answeringTarget(),
      switchRows(this.#tools, this.#held),
    ]);
    this.#pauses.pauseWrites();
    const fenced = await this.#change(logging, 'fenced');
    const source = this.#guardedStore(this.#held.row.source, fenced);
    const { clock, pauseMillisMax, pageEntriesMax: entriesMax } = this.#tools;
    const isTooLong = () => clock.monotonicMs() - beganMs > pauseMillisMax;
    const part = { range: this.#range.id, entriesMax, isTooLong };
    if (!(await copyLastDirtyRows(source, target, part))) {
      await this.#change(fenced, 'logging');
      this.#pauses.end();
      return 'catch up';
    }
    this.#fenced = { fenced, rows };
    const { length } = await keysStillDiffering(source, target, suspects);
    if (length === 0) return 'close';
    this.#giveUp = new MoveMismatchError(this.#held.row.id, length);
    return 'cancel';
  }

  /** Reads pause from here on. The version of the guard is above those of all commits. */
  async #close(): Promise<MoveStep> {
    // `close` is not written into the row, so this process has fenced.
    if (this.#fenced === undefined) return 'catch up';
    const { fenced, rows } = this.#fenced;
    // The target answers just before the switch: after that, only it can serve.
    this.#pauses.pauseReads();
    const both = [this.#change(fenced, 'moved'), this.#answeringTarget()] as const;
    await Promise.allSettled(both);
    const [guard, target] = await Promise.all(both);
    // Both at once. A process that takes over after the switch cannot know whether the floor was
    // raised, and raises it again.
    const [switched, raised] = await Promise.allSettled([
      switchToTarget(this.#tools, this.#held, { floor: guard.version, rows }),
      raiseFloor(target, guard.version),
    ]);
    if (switched.status === 'rejected') throw switched.reason;
    // Once the switch has happened, only the target can serve: `activate` tries it again.
    this.#hasFloor = raised.status === 'fulfilled';
    const at = this.#guardedStore(this.#held.row.target, target.guard);
    this.#switched = { target: at, epoch: switched.value.epoch };
    return 'activate';
  }

  async #activate(): Promise<MoveStep> {
    const known = this.#switched ?? (await this.#incoming());
    if (known === undefined) return 'clean';
    const { target, epoch } = known;
    if (!this.#hasFloor) await raiseFloor(target, this.#held.row.floor);
    const row = { ...this.#guardRow('serving'), epoch };
    const change = { before: target.guard.version, row, deletes: [progressKey(this.#range.id)] };
    if ((await writeGuard(target.store, this.#range.id, change)) === undefined) {
      throw this.#held.takenOver();
    }
    this.#pauses.end();
    return 'clean';
  }

  /** What another process has left behind its switch. Undefined when the target serves. */
  async #incoming(): Promise<Switched | undefined> {
    const { target } = this.#held.row;
    const guard = await readGuard(this.#store(target), this.#range.id);
    if (guard === undefined) throw this.#held.takenOver();
    if (guard.row.state !== 'incoming') return undefined;
    assertOwn(guard, this.#held);
    const { epoch } = (await heldRange(this.#tools, this.#held, this.#range.id)).row;
    return { target: this.#guardedStore(target, guard), epoch };
  }

  async #clean(): Promise<undefined> {
    const { source } = this.#held.row;
    if (!(await this.#isLost(source))) await this.#cleanSource(source);
    await this.#finish();
    return undefined;
  }

  async #cleanSource(source: string): Promise<void> {
    await this.#take(source);
    const store = this.#store(source);
    if ((await readGuard(store, this.#range.id)) === undefined) return;
    const guarded = await this.#source();
    await this.#sourceGuard(['moved']);
    await this.#deleteAll(guarded, dataOf(this.#range));
    await deleteAll(guarded, dirtyRows(this.#range.id));
    await removeGuard(this.#held, guarded);
  }

  /** Whether the store is lost: its data are never read again, so they need no deletion. */
  async #isLost(name: string): Promise<boolean> {
    return (await this.#tools.catalogue.lostStore(name)) !== undefined;
  }

  /** Undoes the move: first the source serves again, because calls wait for it. */
  async #cancel(): Promise<undefined> {
    const { id, source, target } = this.#held.row;
    const before = await this.#sourceGuard(['serving', 'logging', 'fenced', 'moved']);
    const serving = before.row.state === 'serving' ? before : await this.#change(before, 'serving');
    this.#pauses.end();
    const from = this.#guardedStore(source, serving);
    await this.#deleteAll(from, dirtyRows(this.#range.id));
    try {
      await this.#emptyTarget();
    } catch (cause) {
      const isOver = [TakenOverError, GuardError, StoreClosedError].some(
        (kind) => cause instanceof kind,
      );
      if (isOver) throw cause;
      const why = this.#giveUp?.message ?? `Move ${id} is cancelled.`;
      throw new TargetNotEmptiedError({ why, source, target, range: this.#range.id, cause });
    }
    await this.#finish();
    return undefined;
  }

  /** Deletes what this operation has brought to the target, and its guard there. */
  async #emptyTarget(): Promise<void> {
    const { target } = this.#held.row;
    if (await this.#isLost(target)) return;
    await this.#take(target);
    await emptyTarget(this.#move);
  }

  /** Deletes what the target has of a range that the source serves. */
  async #discard(): Promise<undefined> {
    await this.#sourceGuard(['serving']);
    if ((await this.#claimTarget()) === 'incoming') {
      const target = await this.#target();
      await clearTarget(this.#move, target);
      await deleteAll(target, dirtyRows(this.#range.id));
      await this.#emptyTarget();
    }
    await this.#finish();
    return undefined;
  }

  #deleteAll(guarded: GuardedStore, keys: KeyRange): Promise<void> {
    return deleteInSteps(this.#held, guarded, keys);
  }

  #finish(): Promise<void> {
    return releaseRange(this.#tools, this.#held, this.#range.id);
  }

  get #move(): HeldMove {
    return { tools: this.#tools, held: this.#held, range: this.#range };
  }

  #guardRow(state: GuardState): GuardRow {
    const { id, token } = this.#held.row;
    return { state, epoch: this.#range.epoch, operation: id, token };
  }

  async #source(): Promise<GuardedStore> {
    const guard = await this.#sourceGuard(['logging', 'fenced', 'moved']);
    return this.#guardedStore(this.#held.row.source, guard);
  }

  async #target(): Promise<GuardedStore> {
    const { target } = this.#held.row;
    const guard = await readGuard(this.#store(target), this.#range.id);
    if (guard?.row.state !== 'incoming') throw this.#held.takenOver();
    assertOwn(guard, this.#held);
    return this.#guardedStore(target, guard);
  }

  /**
   * The target while calls wait: when one of its answers takes long, the source must serve again.
   * What it applies later does no harm, because the next attempt takes its guard anew first.
   */
  async #answeringTarget(): Promise<GuardedTarget> {
    const { target: name } = this.#held.row;
    const asked = { store: name, timers: this.#tools.timers };
    const { store, guard } = await answered(this.#target(), asked);
    return { store: answeringStore(store, asked), guard };
  }

  #store(name: string): AskedMember {
    return answeringMember(this.#tools, name);
  }

  #guardedStore(name: string, { version }: Pick<Versioned<GuardRow>, 'version'>): GuardedStore {
    return guardedStore(this.#tools, { store: name, id: this.#range.id }, { version });
  }

  /** The guard of the source, which must be in one of the given states. */
  #sourceGuard(states: readonly GuardState[]): Promise<Versioned<GuardRow>> {
    const store = this.#store(this.#held.row.source);
    return ownGuard(store, this.#range.id, this.#held, states);
  }

  #change(before: Versioned<GuardRow>, state: GuardState): Promise<Versioned<GuardRow>> {
    const store = this.#store(this.#held.row.source);
    return changeGuard(store, this.#range, this.#held, { before, state });
  }
}
