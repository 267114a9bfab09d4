import { endsWithin } from '../../base/async/deadline.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import { nextTurn } from '../../base/async/turns.js';
import type { Clock } from '../../base/clock.js';
import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import type { Catalogue } from '../catalogue.js';
import type { PartitionCounters } from '../counters.js';
import type { Members } from '../members.js';
import { isMissingMember } from './missing-member.js';
import { Operations, type RangeOperations, type Refusal } from './operations.js';
import { outcomeOf } from './outcome.js';
import { remember } from './remember.js';
import { OperationBackOff } from './operation-back-off.js';
import { GivenUpError, TakenOverError, type OperationTools, type OperationEnd } from './tools.js';
import { dataOf } from '../range-map.js';
import { awayStores } from '../reach.js';
import type { MoveRow, MoveStep, OperationRow, RangeRow } from '../rows.js';

/** How often this process looks for abandoned operations, in milliseconds. */
const lookMs = 5_000;
/** The interval while a store drains, and the shortest one otherwise. */
const drainLookMs = 250;
/** An operation that left the catalogue has its end noted within this time, in milliseconds. */
const noteMs = 2_000;
/** A range that failed to leave a store is tried again after this time, in milliseconds. */
const stuckRestMs = 60_000;
/** Entries of a page of a copy, at most: reading and writing one takes a millisecond or two. */
export const pageEntriesStandard = 100;
/** About how long writes wait for the end of a move, unless it was begun with another time. */
export const pauseMillisStandard = 2_000;

export interface OperationRunnerOptions {
  readonly catalogue: Catalogue;
  readonly members: Members;
  readonly clock: Clock;
  readonly timers: Timers;
  /**
   * No other process uses the catalogue, so operations found at the start are abandoned: this
   * process takes them over at once. Default: other processes may use it.
   */
  readonly isAlone?: boolean;
  /** An operation could not go on. It is tried again. */
  readonly onFailed: (operation: number, error: unknown) => void;
  readonly counters?: PartitionCounters;
  /** Called with the bytes of keys and values that moves have copied. */
  readonly onCopied?: (bytes: number) => void;
}

/** The progress of an operation that this process carries out. */
export interface Progress {
  readonly step: MoveStep | undefined;
  readonly bytesCopied: number;
  /** Undefined until it is known. */
  readonly bytesTotal: number | undefined;
}

/**
 * How an operation ended. `another`: another process knows. `failed`: this process has given it up.
 * Every other failure leads to another try, here or elsewhere.
 */
export type End =
  | { readonly state: OperationEnd | 'another' }
  | { readonly state: 'failed'; readonly error: unknown };

interface Running {
  step: MoveStep | undefined;
  bytesCopied: number;
  bytesTotal: number | undefined;
}

/** A range that failed to leave a draining store. */
interface StuckRange {
  readonly store: string;
  /** The target that it failed to move to. */
  readonly target: string;
  readonly error: unknown;
  /** In monotonic milliseconds. */
  readonly sinceMs: number;
}

/** Why a range stays in a draining store, or moves elsewhere than planned. */
export type DrainProblem =
  | { readonly kind: 'failed'; readonly range: number; readonly error: unknown }
  | {
      readonly kind: 'refused';
      readonly range: number;
      readonly target: string;
      readonly refusal: Refusal;
    };

/** Carries out own and abandoned operations on ranges while serving. Empties draining stores. */
export class OperationRunner {
  readonly #options: OperationRunnerOptions;
  readonly #running = new Map<number, Running>();
  readonly #works = new Map<number, Promise<void>>();
  readonly #ends = new Map<number, End>();
  /** The rows of operations when this process began to carry them out. */
  readonly #rows = new Map<number, OperationRow>();
  /** The last failures of operations that have not ended. */
  readonly #failures = new Map<number, unknown>();
  /** Operations of which a store is missing here. */
  readonly #backOff: OperationBackOff;
  /** The last move of each range out of a draining store. */
  readonly #drainMoves = new Map<number, Pick<MoveRow, 'id' | 'target'>>();
  /** Ranges that recently failed to leave their stores. Other ranges leave before them. */
  readonly #stuck = new Map<number, StuckRange>();
  /** By draining store: the target that refused its last range. */
  readonly #refusals = new Map<string, DrainProblem>();
  /** How long writes may wait, by operation. */
  readonly #pauses = new Map<number, number>();
  #timer: Timer | undefined;
  #look: Promise<void> = Promise.resolve();
  /**
   * The time until the next look. Shorter while stores drain, or when the lease of another process
   * ends before.
   */
  #nextLookMs = lookMs;
  #isStarted = false;
  #isStopped = false;

  constructor(options: OperationRunnerOptions) {
    this.#options = options;
    this.#backOff = new OperationBackOff(options.clock);
  }

  /** Begins operations; `run` carries them out. */
  get operations(): Operations {
    return this.operationsWith({});
  }

  /** Operations for callers that follow their progress, or have a catalogue of their own. */
  operationsWith(
    own: Partial<Pick<OperationTools, 'catalogue' | 'onCopied' | 'onDeleted'>>,
  ): Operations {
    return new Operations({ ...this.#toolsFor(pauseMillisStandard), ...own });
  }

  /** Begins operations. Its `carryOut` resolves when the operation has ended. */
  get carriedOut(): RangeOperations {
    return {
      beginSplit: (range, at) => this.operations.beginSplit(range, at),
      beginMerge: (left, right) => this.operations.beginMerge(left, right),
      beginMove: (range, target) => this.operations.beginMove(range, target),
      carryOut: async (operation) => {
        this.run(operation);
        const hasWorked = await this.#worked(operation);
        const end = (hasWorked ? this.end(operation) : await this.ended(operation))?.state;
        return end === 'done' || end === 'cancelled' ? end : undefined;
      },
    };
  }

  /** Starts looking for abandoned operations and for stores to empty. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#lookNow(this.#options.isAlone === true);
  }

  #lookNow(takesAll = false): void {
    this.#look = this.#lookAfter(takesAll).finally(() => {
      if (this.#isStopped) return;
      const { timers } = this.#options;
      this.#timer = timers.start(this.#nextLookMs, () => this.#lookNow(), undefined);
    });
  }

  /** Begins no further operation. Those under way continue until the stores close. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.close();
    await this.#look;
  }

  /** Tries postponed operations again. To be called when a store was opened here. */
  retryNow(): void {
    this.#backOff.clear();
    // These failures may be out of date, and a failed move from a draining store is cancelled.
    for (const [operation, error] of this.#failures) {
      if (isMissingMember(error)) this.#failures.delete(operation);
    }
  }

  /** Resolves when nothing runs here. */
  async idle(): Promise<void> {
    while (this.#works.size > 0) await Promise.all(this.#works.values());
  }

  /** Carries an operation out, unless this process does already. */
  run(operation: number, pauseMillisMax?: number): void {
    if (pauseMillisMax !== undefined) this.#pauses.set(operation, pauseMillisMax);
    if (!this.#isStopped) this.#start(operation, (running) => this.#work(operation, running));
  }

  /** Works on an operation, unless this process does already. Nobody waits for it. */
  #start(operation: number, work: (running: Running) => Promise<void>): void {
    if (this.#running.has(operation)) return;
    const running: Running = { step: undefined, bytesCopied: 0, bytesTotal: undefined };
    this.#running.set(operation, running);
    const ended = work(running).finally(() => {
      this.#running.delete(operation);
      this.#works.delete(operation);
    });
    this.#works.set(operation, ended);
  }

  /** As `Operations.cancel`. `onDeleted` is called with the number of keys that were deleted. */
  async cancel(operation: number, onDeleted?: (keys: number) => void): Promise<boolean> {
    const operations = this.operationsWith(onDeleted === undefined ? {} : { onDeleted });
    const isCancelled = await operations.cancel(operation);
    if (isCancelled) this.#note(operation, { state: 'cancelled' });
    return isCancelled;
  }

  progress(operation: number): Progress | undefined {
    return this.#running.get(operation);
  }

  /** The end of an operation; undefined while this process does not know it. */
  end(operation: number): End | undefined {
    return this.#ends.get(operation);
  }

  /** The last failure of an operation here, if any. The operation is tried again. */
  failure(operation: number): unknown {
    return this.#failures.get(operation);
  }

  /**
   * Returns how an operation ended that has left the catalogue. Waits for this process to note an
   * end that it may just have caused. When another process has ended it, the map shows how.
   * Undefined for one that was never carried out here.
   */
  async ended(operation: number): Promise<End | undefined> {
    const work = this.#works.get(operation);
    const { timers } = this.#options;
    // Work that waits for a lost store does not end.
    if (work !== undefined) await endsWithin(work, { limitMs: noteMs, timers });
    const end = this.end(operation);
    const row = this.#rows.get(operation);
    const isKnown = end !== undefined && end.state !== 'another';
    return isKnown || row === undefined
      ? end
      : { state: await outcomeOf(this.#options.catalogue, row) };
  }

  /**
   * Waits until this process does not work on an operation. False when the work goes on although
   * the operation is not in the catalogue any more.
   */
  async #worked(operation: number): Promise<boolean> {
    const { catalogue, timers } = this.#options;
    const work = this.#works.get(operation) ?? Promise.resolve();
    while (!(await endsWithin(work, { limitMs: lookMs, timers }))) {
      if ((await catalogue.operation(operation)) === undefined) return false;
    }
    return true;
  }

  /**
   * Takes over abandoned operations, unless a store of them is missing here, and moves one range
   * off each draining store. A move off it that fails here is cancelled, and other ranges leave
   * first. `takesAll`: also takes over operations under a lease.
   */
  async tend({ takesAll = false } = {}): Promise<void> {
    const { catalogue, clock } = this.#options;
    const operations = await catalogue.operations();
    let leaseMs = Infinity;
    for (const { row } of operations) {
      const leaseMicros = row.leaseUntil - clock.nowMicros();
      if (takesAll || (leaseMicros <= 0 && !this.#backOff.isWaiting(row.id))) this.run(row.id);
      else if (leaseMicros > 0 && !this.#running.has(row.id)) {
        // Another process carries it on, so it does not matter that a store is missing here.
        if (this.#backOff.forget(row.id)) this.#failures.delete(row.id);
        leaseMs = Math.min(leaseMs, leaseMicros / 1_000);
      }
    }
    const stores = (await catalogue.stores()).filter(({ row }) => row.state === 'draining');
    const draining = new Set(stores.map(({ row }) => row.name));
    const restMs = Math.max(drainLookMs, Math.min(lookMs, leaseMs));
    this.#nextLookMs = draining.size > 0 ? drainLookMs : restMs;
    this.#forgetDrains(draining);
    for (const name of draining) await this.#drain(name, operations);
  }

  /**
   * Why ranges stay in a draining store, or move elsewhere than planned; undefined when none does.
   */
  drainProblem(store: string): DrainProblem | undefined {
    for (const [range, stuck] of this.#stuck) {
      if (stuck.store === store) return { kind: 'failed', range, error: stuck.error };
    }
    return this.#refusals.get(store);
  }

  async #lookAfter(takesAll: boolean): Promise<void> {
    try {
      await this.tend({ takesAll });
    } catch (error) {
      if (error instanceof StoreClosedError || error instanceof StoreUnavailableError) return;
      this.#options.onFailed(0, error);
    }
  }

  async #drain(
    store: string,
    operations: readonly { readonly row: OperationRow }[],
  ): Promise<void> {
    const { catalogue, members, timers } = this.#options;
    const moves = operations.flatMap(({ row }) =>
      row.kind === 'move' && row.source === store ? [row] : [],
    );
    if (moves.some(({ id }) => this.#running.has(id))) return;
    const away = await awayStores(members, timers);
    // Nothing can be copied from a store that does not answer.
    if (away.has(store) || moves.some((move) => this.#goesOn(move, away))) return;
    const { ranges } = await catalogue.map();
    for (const move of moves) this.#drainMoves.set(move.range, move);
    // Comes first, because a failure is forgotten together with its operation.
    this.#noteStuck(store, ranges);
    for (const move of moves) this.#giveUp(move);
    const range = this.#nextToLeave(ranges.filter((each) => each.store === store));
    const notEmptied = moves.flatMap(({ step, target }) => (step === 'cancel' ? [target] : []));
    const without = new Set([...away, ...notEmptied]);
    if (range === undefined) return;
    this.#refusals.delete(store);
    for (const target of await this.#leastLoaded(ranges, without)) {
      if (await this.#leaves(range.id, store, target)) return;
    }
  }

  /**
   * Begins to move a range off a store. False when the target refuses it and another is to be
   * tried.
   */
  async #leaves(range: number, store: string, target: string): Promise<boolean> {
    const begun = await this.operations.beginMove(range, target);
    if (begun.ok) {
      this.#stuck.delete(range);
      this.#drainMoves.set(range, { id: begun.operation, target });
      this.run(begun.operation);
      return true;
    }
    // The other reasons end soon, or the next look sees them.
    if (begun.refusal !== 'location mismatch') return true;
    this.#refusals.set(store, { kind: 'refused', range, target, refusal: begun.refusal });
    return false;
  }

  /** Whether to wait for a move that does not run here. False when it failed for good. */
  #goesOn({ id, step, target }: MoveRow, away: ReadonlySet<string>): boolean {
    if (step === 'cancel') return false;
    const failure = this.#failureOf(id);
    if (failure === undefined) return true;
    return failure instanceof StoreUnavailableError && !away.has(target);
  }

  /** Why an operation failed here, whether it is tried again or not. */
  #failureOf(operation: number): unknown {
    const end = this.#ends.get(operation);
    return end?.state === 'failed' ? end.error : this.#failures.get(operation);
  }

  /** Undoes a failed move off a draining store, so that another range can move. */
  #giveUp({ id, step }: MoveRow): void {
    // A move that has switched can only be completed, and one that is being undone is tried again
    // as it is. A move whose target is away continues when the target is back.
    if (step === 'activate' || step === 'clean' || step === 'cancel') return;
    if (this.#failureOf(id) instanceof StoreUnavailableError) return;
    this.#start(id, () => this.#undo(id));
  }

  /** May take as long as the deletion of all that was copied. */
  async #undo(operation: number): Promise<void> {
    try {
      await this.cancel(operation);
    } catch (error) {
      const isOver = error instanceof StoreClosedError || error instanceof TakenOverError;
      if (!isOver) this.#options.onFailed(operation, error);
    }
  }

  /** Notes which ranges of a store have failed to leave it, and forgets those that are gone. */
  #noteStuck(store: string, ranges: readonly RangeRow[]): void {
    const sinceMs = this.#options.clock.monotonicMs();
    const there = new Set(ranges.filter((each) => each.store === store).map(({ id }) => id));
    for (const [range, { id, target }] of this.#drainMoves) {
      const error = this.#failureOf(id);
      if (!there.has(range) || error === undefined) continue;
      this.#stuck.set(range, { store, target, error, sinceMs });
      this.#drainMoves.delete(range);
    }
    for (const [range, stuck] of this.#stuck) {
      if (stuck.store === store && !there.has(range)) this.#stuck.delete(range);
    }
    const refused = this.#refusals.get(store);
    if (refused !== undefined && !there.has(refused.range)) this.#refusals.delete(store);
  }

  /** A range that has not failed to leave; if there is none, the one that failed longest ago. */
  #nextToLeave(ranges: readonly RangeRow[]): RangeRow | undefined {
    const free = ranges.filter(({ operation }) => operation === 0);
    const untried = free.find(({ id }) => !this.#stuck.has(id));
    if (untried !== undefined) return untried;
    const sinceMs = ({ id }: RangeRow) => this.#stuck.get(id)?.sinceMs ?? 0;
    const [first] = free.toSorted((left, right) => sinceMs(left) - sinceMs(right));
    const isRested =
      first !== undefined && this.#options.clock.monotonicMs() - sinceMs(first) >= stuckRestMs;
    return isRested ? first : undefined;
  }

  /** Forgets the failures and refusals of stores that do not drain any more. */
  #forgetDrains(draining: ReadonlySet<string>): void {
    if (draining.size === 0) this.#drainMoves.clear();
    const isOver = (store: string) => !draining.has(store);
    for (const [range, { store }] of this.#stuck) if (isOver(store)) this.#stuck.delete(range);
    for (const store of this.#refusals.keys()) if (isOver(store)) this.#refusals.delete(store);
  }

  /**
   * The active stores, those with few ranges first. A store to which a range recently failed to
   * move comes last: it may be faulty.
   */
  async #leastLoaded(
    ranges: readonly RangeRow[],
    without: ReadonlySet<string>,
  ): Promise<readonly string[]> {
    const { catalogue, members } = this.#options;
    const suspects = new Set([...this.#stuck.values()].map(({ target }) => target));
    const active = (await catalogue.stores()).filter(
      ({ row: { name, state } }) => state === 'active' && members.has(name) && !without.has(name),
    );
    const counted = active.map(({ row: { name } }) => ({
      name,
      isSuspect: suspects.has(name),
      count: ranges.filter(({ store }) => store === name).length,
    }));
    const inOrder = counted.toSorted(
      (left, right) => Number(left.isSuspect) - Number(right.isSuspect) || left.count - right.count,
    );
    return inOrder.map(({ name }) => name);
  }

  async #work(operation: number, running: Running): Promise<void> {
    const tools = {
      ...this.#toolsFor(this.#pauses.get(operation) ?? pauseMillisStandard),
      onStep: (step: MoveStep) => {
        running.step = step;
      },
      onCopied: (bytes: number) => {
        running.bytesCopied += bytes;
        this.#options.onCopied?.(bytes);
        if (this.#options.counters !== undefined) this.#options.counters.movedBytes += bytes;
      },
    };
    // The size is only shown to people, so a failure does not matter.
    this.#size(operation, running).catch(() => undefined);
    try {
      const found = await this.#options.catalogue.operation(operation);
      if (found !== undefined) remember(this.#rows, operation, found.row);
      const end = await new Operations(tools).carryOut(operation);
      this.#note(operation, { state: end ?? 'another' });
    } catch (error) {
      if (error instanceof StoreClosedError) return;
      if (error instanceof TakenOverError) return this.#note(operation, { state: 'another' });
      if (error instanceof GivenUpError) this.#note(operation, { state: 'failed', error });
      else remember(this.#failures, operation, error);
      if (isMissingMember(error)) this.#backOff.postpone(operation);
      this.#options.onFailed(operation, error);
    }
  }

  /** Measures how many bytes the operation has to copy. */
  async #size(operation: number, running: Running): Promise<void> {
    const { catalogue, members } = this.#options;
    const found = await catalogue.operation(operation);
    if (found?.row.kind !== 'move') return;
    const range = await catalogue.range(found.row.range);
    if (range === undefined) return;
    const { bytes } = await members.named(found.row.source).sample(dataOf(range.row), 0);
    running.bytesTotal = bytes;
  }

  #note(operation: number, end: End): void {
    this.#pauses.delete(operation);
    this.#failures.delete(operation);
    this.#backOff.forget(operation);
    if (end.state === 'another' && this.#ends.has(operation)) return;
    remember(this.#ends, operation, end);
  }

  #toolsFor(pauseMillisMax: number) {
    const { catalogue, members, clock, timers, counters } = this.#options;
    const counted = counters && { counters };
    const work = { pauseMillisMax, pageEntriesMax: pageEntriesStandard, giveWay: nextTurn };
    return { catalogue, members, clock, timers, ...counted, ...work };
  }
}
