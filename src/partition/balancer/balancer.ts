import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import {
  planBalance,
  type BalancePlan,
  type PlannedOperation,
  type RangeState,
} from '../../placement/balancer/plan.js';
import { defaultBalancerPolicy, type BalancerPolicy } from '../../placement/balancer/policy.js';
import type { Catalogue } from '../catalogue.js';
import { balancerKey, loadKey } from '../keys.js';
import { encodeLoadRow } from '../load/load-rows.js';
import { RangeLoads } from './range-loads.js';
import type { MeasuredRange, RangeMeter } from '../load/range-meter.js';
import type { Members } from '../members.js';
import { knownStores } from '../membership.js';
import type { BeginResult, RangeOperations } from '../operations/operations.js';
import { TakenOverError } from '../operations/tools.js';
import type { RangeMap } from '../range-map.js';
import { answeringHome, awayStores, type AnsweringHome } from '../reach.js';
import type { RangeRow, StoreRow } from '../rows.js';
import { RangeAges } from './range-ages.js';
import { RangeSizes, type RangeSize } from './range-sizes.js';

export type { PlannedOperation } from '../../placement/balancer/plan.js';
export type { IdleReason } from '../../placement/balancer/idle-reasons.js';

/** `advise`: plans are made and shown, and not carried out. `off`: none are made. */
export type BalancerMode = 'off' | 'advise' | 'on';

/** How often a process publishes what it has measured, in milliseconds. */
const publishEveryMs = 5_000;
/** How often a plan is made, in milliseconds. */
const planEveryMs = 15_000;
/** The planning process is replaced when its row stays unchanged this long, in milliseconds. */
const replacedAfterMs = 45_000;

/**
 * A plan waits at most this many milliseconds for the size of a range. The sizes of larger ranges
 * are in a later plan.
 */
const sizeWaitMs = 1_000;

export interface BalancerOptions {
  readonly mode: BalancerMode;
  readonly members: Members;
  /** One that does not wait for a silent home store: see `answeringCatalogue`. */
  readonly catalogue: Catalogue;
  readonly operations: RangeOperations;
  /** Counts the calls of this process. */
  readonly meter: RangeMeter;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
  readonly policy?: BalancerPolicy;
  /**
   * Called with each plan of this process that has operations or findings, or that was made while a
   * store was away.
   */
  readonly onPlan?: (plan: Advice) => Promise<void>;
  /** Called when an operation failed, or a range could not be measured. */
  readonly onTrouble?: (error: unknown) => void;
}

/** A plan, and the measurements that it was made from. */
export interface Advice extends BalancePlan {
  readonly map: RangeMap;
  readonly loads: ReadonlyMap<number, MeasuredRange>;
  readonly sizeOf: (range: number) => RangeSize | undefined;
  /** Stores that did not answer: nothing is done to their ranges, and no range moves there. */
  readonly away: ReadonlySet<string>;
  /** For how long this process has measured loads, in milliseconds. */
  readonly measuredMs: number;
  /** Loads must have been measured for this many milliseconds before a plan acts on them. */
  readonly neededMs: number;
  /** The number of ranges without a known size. One is measured at a time, also between plans. */
  readonly unsized: number;
}

/** A running measurement of the size of a range. */
interface Measurement {
  readonly range: number;
  /**
   * Resolves also when the measurement failed: plans do without the size, and the next range is
   * due.
   */
  readonly ended: Promise<void>;
}

interface ObservedLoads extends Pick<Advice, 'map' | 'loads' | 'away'> {
  readonly nowMs: number;
}

/**
 * Publishes the loads that this process measures, and finishes abandoned operations. One of all
 * processes is the planner: it also splits, merges and moves ranges to follow the load.
 */
export class Balancer {
  readonly #options: BalancerOptions;
  readonly #policy: BalancerPolicy;
  readonly #name: string;
  readonly #home: AnsweringHome;
  readonly #loads: RangeLoads;
  readonly #ages = new RangeAges();
  readonly #sizes = new RangeSizes();
  readonly #working = new Set<number>();
  #measuring: Measurement | undefined;
  /**
   * The version of the planner's row at the last read, and when this process first read that
   * version.
   */
  #seen: { readonly version: number | 'absent'; readonly sinceMs: number } | undefined;
  #held: number | undefined;
  #last: Advice | undefined;
  #measuredFromMs: number | undefined;
  #publishedMs: number;
  #plannedMs: number | undefined;
  readonly #over = new AbortController();
  #loops: readonly Promise<void>[] = [];

  constructor(options: BalancerOptions) {
    this.#options = options;
    this.#policy = options.policy ?? defaultBalancerPolicy;
    this.#name = options.randomness.uuid();
    this.#home = answeringHome(options.members, options.timers);
    this.#loads = new RangeLoads(this.#home);
    this.#publishedMs = options.clock.monotonicMs();
  }

  /** The last plan that this process has made, if it makes any. */
  get last(): Advice | undefined {
    return this.#last;
  }

  /** Starts the background work. To be called once. */
  start(): void {
    const { signal } = this.#over;
    this.#loops = [
      this.#repeat(publishEveryMs, () => this.publish(), signal),
      this.#repeat(planEveryMs, () => this.round(), signal),
    ];
  }

  /**
   * Waits for the current round, but not for operations on ranges: another process finishes those.
   */
  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#loops);
  }

  /** Publishes what this process has measured since the last call. */
  async publish(): Promise<void> {
    const { meter, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const ranges = meter.takeLoads(nowMs - this.#publishedMs);
    this.#publishedMs = nowMs;
    const put = { key: loadKey(this.#name), value: encodeLoadRow(ranges) };
    await this.#home.commit({ checks: [], puts: [put], deletes: [] });
  }

  /** Takes over abandoned operations and, in the planning process, makes and begins a plan. */
  async round(): Promise<void> {
    await this.#takeOver();
    if (this.#options.mode === 'off' || !(await this.#leads())) return;
    const advice = await this.advice();
    const { operations, findings, away } = advice;
    if (this.#options.mode === 'on') for (const operation of operations) this.#begin(operation);
    if (operations.length + findings.length + away.size > 0) await this.#options.onPlan?.(advice);
  }

  /** A plan for the ranges and loads as they are now. Changes nothing. */
  async advice(): Promise<Advice> {
    const { catalogue, members, clock } = this.#options;
    const stores = (await knownStores(catalogue, members)).map(({ row }) => row);
    const away = await this.#away(stores);
    const map = await catalogue.map();
    const nowMs = clock.monotonicMs();
    const loads = await this.#loads.read(nowMs);
    this.#measuredFromMs ??= nowMs;
    const measuredMs = nowMs - this.#measuredFromMs;
    this.#ages.observe(map, nowMs);
    this.#noteWrites(loads, nowMs);
    const unsized = await this.#takeSize(map, away, nowMs);
    const running = await catalogue.operations();
    const plan = planBalance({
      ranges: this.#states({ map, loads, away, nowMs }),
      stores: stores.map(({ name, state }) => ({
        name,
        takesRanges: state === 'active' && !away.has(name),
      })),
      running: running.length,
      measuredMs,
      policy: this.#policy,
    });
    const sizeOf = (range: number) => this.#sizes.of(range);
    const known = { measuredMs, neededMs: this.#policy.settleMs, unsized };
    const advice = { ...plan, map, loads, sizeOf, away, ...known };
    this.#last = advice;
    return advice;
  }

  #noteWrites(loads: ReadonlyMap<number, MeasuredRange>, nowMs: number): void {
    const seconds = (nowMs - (this.#plannedMs ?? nowMs)) / 1_000;
    for (const { id, writesPerSecond, bytesWrittenPerSecond } of loads.values()) {
      const [writes, bytes] = [writesPerSecond * seconds, bytesWrittenPerSecond * seconds];
      this.#sizes.noteWrites(id, { writes, bytes });
    }
    this.#plannedMs = nowMs;
  }

  /**
   * Measures the size of one range whose store answers, and waits a while for the result. Returns
   * the number of ranges without a known size.
   */
  async #takeSize(map: RangeMap, away: ReadonlySet<string>, nowMs: number): Promise<number> {
    const { members, timers } = this.#options;
    const isThere = ({ store }: RangeRow) => members.has(store) && !away.has(store);
    const due = this.#sizes.due(map, nowMs).filter(isThere);
    const [first] = due;
    const measuring = (this.#measuring ??= first && this.#measure(first, nowMs));
    if (measuring === undefined) return 0;
    const over = new AbortController();
    await Promise.race([measuring.ended, sleep(timers, sizeWaitMs, over.signal)]);
    over.abort();
    const others = due.filter(({ id }) => id !== measuring.range);
    return others.length + (this.#measuring === measuring ? 1 : 0);
  }

  #measure(range: RangeRow, nowMs: number): Measurement {
    const { members, timers, onTrouble } = this.#options;
    const ended = this.#sizes
      .take(range, { members, timers, nowMs })
      .catch((error: unknown) => {
        if (!(error instanceof StoreClosedError)) onTrouble?.(error);
      })
      .finally(() => (this.#measuring = undefined));
    return { range: range.id, ended };
  }

  /** Returns the stores that do not answer, without those that were removed from the key space. */
  async #away(stores: readonly StoreRow[]): Promise<ReadonlySet<string>> {
    const { members, timers } = this.#options;
    const away = await awayStores(members, timers);
    return new Set(stores.map(({ name }) => name).filter((name) => away.has(name)));
  }

  #states({ map, loads, away, nowMs }: ObservedLoads): readonly RangeState[] {
    return map.ranges.map((range) => {
      const { id, store, operation } = range;
      const load = loads.get(id);
      const size = this.#sizes.of(id);
      return {
        id,
        store,
        callsPerSecond: (load?.readsPerSecond ?? 0) + (load?.writesPerSecond ?? 0),
        longCallsPerSecond: load?.longCallsPerSecond ?? 0,
        accessed: load?.accessed ?? [],
        bytes: size?.bytes,
        sizeCut: size?.cut,
        // No operation begins on a range that must stay in the home store, or whose store is away.
        isBusy: operation !== 0 || this.#options.members.isBound(range) || away.has(store),
        last: this.#ages.last(id, nowMs),
      };
    });
  }

  /** Carries on operations whose process has not renewed its lease. */
  async #takeOver(): Promise<void> {
    const { catalogue, operations, clock } = this.#options;
    const nowMicros = clock.nowMicros();
    for (const { row } of await catalogue.operations()) {
      if (row.leaseUntil >= nowMicros || this.#working.has(row.id)) continue;
      this.#carryOut(row.id, () => operations.carryOut(row.id));
    }
  }

  /**
   * Makes this process the planner or renews that role. False when another process is the planner.
   * Two planners at once are harmless: a range may be changed twice in a row.
   */
  async #leads(): Promise<boolean> {
    const nowMs = this.#options.clock.monotonicMs();
    const found = (await this.#home.get(balancerKey))?.version ?? 'absent';
    if (this.#seen?.version !== found) this.#seen = { version: found, sinceMs: nowMs };
    const isOwn = found === this.#held;
    const isLeft = found === 'absent' || nowMs - this.#seen.sinceMs > replacedAfterMs;
    if (!isOwn && !isLeft) return false;
    const result = await this.#home.commit({
      checks: [{ key: balancerKey, version: found }],
      puts: [{ key: balancerKey, value: Buffer.from(this.#name) }],
      deletes: [],
    });
    this.#held = result.ok ? result.version : undefined;
    return result.ok;
  }

  #begin(operation: PlannedOperation): void {
    const { operations } = this.#options;
    const begun = beginPlanned(operations, operation);
    this.#spawn(async () => {
      const answer = await begun;
      // If another process has begun an operation on the range, the next plan takes that into
      // account.
      if (answer.ok) this.#carryOut(answer.operation, () => operations.carryOut(answer.operation));
    });
  }

  #carryOut(operation: number, work: () => Promise<unknown>): void {
    this.#working.add(operation);
    this.#spawn(() => work().finally(() => this.#working.delete(operation)));
  }

  #spawn(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => {
      if (error instanceof TakenOverError || error instanceof StoreClosedError) return;
      this.#options.onTrouble?.(error);
    });
  }

  async #repeat(everyMs: number, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.timers, everyMs, signal);
      if (signal.aborted) return;
      await this.#quietly(work);
    }
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof StoreClosedError) return;
      // It is tried again after the next interval.
      if (!(error instanceof StoreUnavailableError)) this.#options.onTrouble?.(error);
    }
  }
}

/** Begins a planned operation. */
export function beginPlanned(
  operations: RangeOperations,
  planned: PlannedOperation,
): Promise<BeginResult> {
  switch (planned.kind) {
    case 'split':
      return operations.beginSplit(planned.range, planned.at);
    case 'merge':
      return operations.beginMerge(planned.left, planned.right);
    case 'move':
      return operations.beginMove(planned.range, planned.target);
    default:
      return unreachable(planned);
  }
}
