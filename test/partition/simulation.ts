import assert from 'node:assert/strict';
import type { Randomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { CommitUnknownError, StoreUnavailableError } from '../../src/kv/errors.js';
import { decodeTuple, prefixRange } from '../../src/kv/tuple.js';
import { storeKey } from '../../src/kv/partition-prefix.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { guardRows } from '../../src/partition/keys.js';
import { Members } from '../../src/partition/members.js';
import { removeLostStore } from '../../src/partition/operations/lost-store.js';
import { Operations } from '../../src/partition/operations/operations.js';
import { TakenOverError, TargetNotEmptiedError } from '../../src/partition/operations/tools.js';
import { decodeGuardRow } from '../../src/partition/rows.js';
import { verify } from '../../src/partition/verify.js';
import { openPartitionedStore, type PartitionedStore } from '../../src/partition/store.js';
import type { QueueService } from '../../src/services/queues/queue-service.js';
import { raceAccount, raceQueue } from '../sim/queue-races.js';
import { SimRandom } from '../support/sim-random.js';
import { Client } from './client.js';
import { admitted } from './composed-stores.js';
import { Histories, prefixes } from './histories.js';
import { QueueClients, queuePrefix, queueServiceOf } from './queue-clients.js';
import { noteBackup } from './sim-backups.js';
import { Scheduler, type SimProcess } from './scheduler.js';
import { holds, Violation } from './violation.js';
import { SimStore, type SharedStore, type Without } from './sim-store.js';

const storeNames = ['s0', 's1', 's2'] as const;
const frontEndsMax = 3;
const clientsEach = 2;
const callsEach = 25;
/** Clients of the queue at each front end that writes. */
const queueClientsEach = 2;
const queueOperationsEach = 8;
/**
 * Movers are much quicker than front ends, so that a move ends beside a few calls, and there are
 * calls left that know where the range was.
 */
const frontEndSlowness = 0.85;
const zombieSlowness = 0.97;
/**
 * How often, in each step, a process begins an operation, takes one over, falls behind, is quick
 * again, or dies. A move takes hundreds of steps: were many of them disturbed in most of these,
 * few would come as far as the switch.
 */
const beginChance = 0.05;
const takeOverChance = 0.003;
const lateChance = 0.003;
const wakeChance = 0.003;
const deathChance = 0.0005;
/** How many of those who take an operation over cancel it. */
const cancelShare = 0.03;
/** How often somebody asks for what an operation under way, or the place of the range, refuses. */
const refusedShare = 0.1;
/** Between the clocks of two stores, at most. */
const skewMicrosMax = 20_000_000;
const moversMax = 4;
/** In so many runs ranges are backed up, and what other stores have of them is deleted. */
const copyingRuns = 0.4;
/** How often such an operation begins in these runs, in each step, while no other one runs. */
const copyChance = 0.02;
/** In so many runs a store goes away, is taken out as lost if it has no range, and comes back. */
const losingRuns = 0.3;
const lossStepsMax = 2_000;
/** Somebody tries so often to take it out, in steps. */
const lossTriedEach = 150;
/** A run that has not ended after so many steps hangs. */
const stepsMax = 60_000;
/** Where ranges are split. */
const bounds = [queuePrefix, ...prefixes];
const wholePage = { limit: 100_000, bytesMax: 1 << 30 } as const;

export interface SimulationOptions {
  readonly seed: number;
  readonly without?: Without;
}

/** What happened in a run. */
export interface Simulated {
  readonly calls: number;
  /** Messages that were got from a queue. */
  readonly messages: number;
  readonly movers: number;
  readonly ended: number;
  /** How often a mover came behind the switch of a move while clients called. */
  readonly switched: number;
  /** Stores that were taken out as lost. */
  readonly lost: number;
  /** Backups that came to their end. */
  readonly backups: number;
}

/**
 * Front ends read and write a few partitions over three stores, while ranges are split, merged and
 * moved by processes that die or fall behind at any moment, and a store may be taken out as lost
 * that comes back. Throws a `Violation` for what no order of the calls explains, and for every
 * other promise that is broken; another error for a run that does not end.
 */
export async function simulate(options: SimulationOptions): Promise<Simulated> {
  const world = await World.make(options);
  await world.run();
  return world.checked();
}

interface Mover {
  readonly process: SimProcess;
  isOver: boolean;
}

/** When a store goes away and comes back, in steps of the scheduler. */
interface Loss {
  readonly shared: SharedStore;
  readonly awayAt: number;
  readonly backAt: number;
}

/** Drawn apart, so that runs without a loss stay what they were. */
function lossIn(seed: number, [, ...others]: readonly SharedStore[]): Loss | undefined {
  const random = new SimRandom(seed ^ 0x105e);
  if (!random.chance(losingRuns)) return undefined;
  const awayAt = random.int(lossStepsMax);
  return { shared: random.pick(others), awayAt, backAt: awayAt + random.int(lossStepsMax) };
}

function randomnessOf(random: SimRandom): Randomness {
  return { bytes: (count) => random.bytes(count), uuid: () => random.uuid() };
}

/** Creates the queue that clients share, before anything can go wrong. */
async function makeQueue(
  members: Members,
  { clock, timers }: Scheduler,
  random: SimRandom,
): Promise<void> {
  const randomness = randomnessOf(random);
  const store = await openPartitionedStore({ members, clock, timers, randomness });
  await queueServiceOf(store, { clock, randomness }).createQueue(raceAccount, raceQueue, []);
}

class World {
  readonly #random: SimRandom;
  readonly #scheduler: Scheduler;
  readonly #without: Without | undefined;
  readonly #shared: readonly SharedStore[];
  /** The catalogue as it is, for checks and choices: no process sees it this way. */
  readonly #catalogue: Catalogue;
  readonly #histories = new Histories();
  readonly #queue: QueueClients;
  readonly #movers: Mover[] = [];
  readonly #loss: Loss | undefined;
  /** Draws backups and deletions apart, so that runs without them stay what they were. */
  readonly #copying: SimRandom | undefined;
  #copier: Mover | undefined;
  #backups = 0;
  #isFaulty = true;
  #ended = 0;
  #switched = 0;
  #problem: Error | undefined;

  private constructor(
    { seed, without }: SimulationOptions,
    scheduler: Scheduler,
    shared: SharedStore[],
  ) {
    this.#random = new SimRandom(seed ^ 0x5eed);
    this.#without = without;
    this.#scheduler = scheduler;
    this.#shared = shared;
    const [home] = shared;
    assert.ok(home !== undefined);
    this.#catalogue = new Catalogue(home.memory);
    this.#loss = lossIn(seed, shared);
    const copying = new SimRandom(seed ^ 0xc0b1e);
    this.#copying = copying.chance(copyingRuns) ? copying : undefined;
    const skewMicros = skewMicrosMax + 1_000_000;
    this.#queue = new QueueClients({ clock: scheduler.clock, skewMicros });
  }

  static async make(options: SimulationOptions): Promise<World> {
    const random = new SimRandom(options.seed);
    const scheduler = new Scheduler(random);
    const shared: SharedStore[] = [];
    for (const name of storeNames) {
      let skew = random.int(skewMicrosMax);
      const clock = scheduler.skewed(() => {
        if (random.chance(0.002)) skew = random.int(skewMicrosMax);
        return skew;
      });
      shared.push({ name, memory: await openMemoryStore({ clock }), admitted: 0, isAway: false });
    }
    const stores = shared.map(({ name, memory }) => [name, memory] as const);
    const members = await admitted(new Members(storeNames[0], new Map(stores)));
    await makeQueue(members, scheduler, random);
    return new World(options, scheduler, shared);
  }

  async run(): Promise<void> {
    const clients: Promise<void>[] = [];
    for (let count = 0; count < frontEndsMax; count += 1) {
      const store = await this.#opened(`front end ${count}`);
      for (let own = 0; own < clientsEach; own += 1) {
        const random = new SimRandom(this.#random.int(2 ** 31));
        const client = new Client(store, this.#histories, random, `${count}.${own}.`);
        // One front end only reads: nothing but its reads tells it that it knows an old map.
        clients.push(client.run(callsEach, count === 0 ? 0 : 10));
      }
      if (count === 0) continue;
      const service = this.#queueService(store);
      for (let own = 0; own < queueClientsEach; own += 1) {
        const random = new SimRandom(this.#random.int(2 ** 31));
        clients.push(this.#queue.run(service, random, queueOperationsEach));
      }
    }
    await this.#settled(Promise.all(clients), () => this.#disturb());
    this.#isFaulty = false;
    for (const shared of this.#shared) shared.isAway = false;
    await this.#endOperations();
    for (const { process } of this.#movers) process.slowness = 0;
    while (this.#movers.some(({ isOver, process }) => !isOver && process.isAlive)) {
      if (!(await this.#step())) break;
    }
    const reader = await this.#opened('the last front end');
    const client = new Client(reader, this.#histories, this.#random, 'last.');
    await this.#settled(client.readAll());
    await this.#settled(this.#queue.drain(this.#queueService(reader)));
  }

  async checked(): Promise<Simulated> {
    await holds(() => this.#histories.check());
    await holds(() => this.#queue.check());
    await holds(() => this.#checkStores());
    const lost = (await this.#catalogue.lostStores()).length;
    const { calls } = this.#histories;
    const messages = this.#queue.deliveries;
    const movers = this.#movers.length;
    const [ended, switched, backups] = [this.#ended, this.#switched, this.#backups];
    return { calls, messages, movers, ended, switched, lost, backups };
  }

  /** What happens to ranges and their movers beside the calls. */
  async #disturb(): Promise<void> {
    this.#lose();
    const random = this.#random;
    const alive = this.#movers.filter(({ isOver, process }) => !isOver && process.isAlive);
    if (alive.length > 0 && random.chance(deathChance)) random.pick(alive).process.isAlive = false;
    if (alive.length > 0 && random.chance(lateChance)) {
      random.pick(alive).process.slowness = zombieSlowness;
      await this.#takeOver();
    }
    const late = alive.filter(({ process }) => process.slowness > 0);
    if (late.length > 0 && random.chance(wakeChance)) random.pick(late).process.slowness = 0;
    const quick = alive.filter(({ process }) => process.slowness === 0);
    if (quick.length < 2 && alive.length < moversMax && random.chance(beginChance))
      await this.#begin();
    if (alive.length < 2 * moversMax && random.chance(takeOverChance)) await this.#takeOver();
    await this.#beginCopying();
  }

  /** Somebody backs a range up, or deletes what a store has of a range of another one. */
  async #beginCopying(): Promise<void> {
    const random = this.#copying;
    const isBusy = this.#copier?.isOver === false && this.#copier.process.isAlive;
    if (random === undefined || isBusy || !random.chance(copyChance)) return;
    const range = random.pick((await this.#catalogue.map()).ranges);
    const target = random.pick(storeNames);
    const isBackup = random.chance(0.7);
    const memory = await openMemoryStore({ clock: this.#scheduler.clock });
    const copy = { name: 'backup', memory, admitted: 0, isAway: false };
    this.#copier = this.#move(async (operations, _, process) => {
      let fencedAt = 0;
      process.onFence = ({ puts }) => {
        const isPause = puts.some(({ value }) => decodeGuardRow(value).state === 'fenced');
        if (isPause) fencedAt = this.#histories.now();
      };
      const begun = isBackup
        ? await operations.beginBackup(range.id)
        : await operations.beginDiscard(range.id, target);
      if (!begun.ok) return;
      if (!isBackup) {
        await operations.carryOut(begun.operation);
        return;
      }
      await operations.backUp(begun.operation, this.#storeOf(copy, process, 'mover'));
      this.#backups += 1;
      await noteBackup(this.#histories, memory, { range, fencedAt });
    });
  }

  /** Somebody takes a store for lost while nobody gets an answer of it. */
  #lose(): void {
    if (this.#loss === undefined) return;
    const { shared, awayAt, backAt } = this.#loss;
    const { steps } = this.#scheduler;
    shared.isAway = steps >= awayAt && steps < backAt;
    if (!shared.isAway || (steps - awayAt) % lossTriedEach !== 0) return;
    this.#move(async (operations, catalogue) => {
      const { timers } = this.#scheduler;
      await removeLostStore({ catalogue, operations, timers }, shared.name);
    });
  }

  async #begin(): Promise<void> {
    const random = this.#random;
    const { ranges } = await this.#catalogue.map();
    const kind = random.weighted({ move: 6, split: ranges.length < 4 ? 4 : 1, merge: 2 });
    const mayBeRefused = random.chance(refusedShare);
    const free = ranges.filter(({ operation }) => mayBeRefused || operation === 0);
    if (free.length === 0) return;
    const range = random.pick(free);
    const at = random.pick(bounds);
    const next = ranges[ranges.indexOf(range) + 1] ?? range;
    const target = random.pick(storeNames.filter((name) => mayBeRefused || name !== range.store));
    this.#move(async (operations) => {
      const begun =
        kind === 'move'
          ? await operations.beginMove(range.id, target)
          : kind === 'split'
            ? await operations.beginSplit(range.id, at)
            : await operations.beginMerge(range.id, next.id);
      if (begun.ok) await operations.carryOut(begun.operation);
    });
  }

  async #takeOver(): Promise<void> {
    const left = await this.#catalogue.operations();
    if (left.length === 0) return;
    const { id } = this.#random.pick(left).row;
    const cancels = this.#random.chance(cancelShare);
    this.#move(async (operations) => {
      if (cancels) await operations.cancel(id);
      else await operations.carryOut(id);
    });
  }

  /** A process that works on ranges. It ends when another takes its operation over. */
  #move(
    work: (operations: Operations, catalogue: Catalogue, process: SimProcess) => Promise<void>,
  ): Mover {
    const process = this.#process(`mover ${this.#movers.length}`);
    const mover: Mover = { process, isOver: false };
    this.#movers.push(mover);
    const members = this.#members(process, 'mover');
    const catalogue = new Catalogue(members.home);
    const operations = new Operations({
      catalogue,
      members,
      clock: this.#scheduler.clock,
      timers: this.#scheduler.timers,
      pauseMillisMax: 60,
      pageEntriesMax: 6,
      onStep: (step) => {
        if (this.#isFaulty && step === 'activate') this.#switched += 1;
      },
    });
    work(operations, catalogue, process)
      .then(() => (this.#ended += 1))
      .catch((error: unknown) => {
        const expected = [
          TakenOverError,
          StoreUnavailableError,
          CommitUnknownError,
          TargetNotEmptiedError,
        ];
        if (expected.some((kind) => error instanceof kind)) return;
        // An operation ends, is taken over, loses an answer, or meets a store that is away.
        const text = error instanceof Error ? error.message : String(error);
        this.#problem ??= new Violation(`a mover ends with: ${text}`, { cause: error });
      })
      .finally(() => (mover.isOver = true));
    return mover;
  }

  /** Some process takes over whatever is left, until nothing is. */
  async #endOperations(): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const left = await this.#catalogue.operations();
      if (left.length === 0) return;
      assert.ok(tries < 200, `operations do not end: ${JSON.stringify(left)}`);
      await this.#takeOver();
      const isWorking = () => this.#movers.at(-1)?.isOver === false;
      // Those that were late have their turns as well.
      while (isWorking() && (await this.#step()));
    }
  }

  async #checkStores(): Promise<void> {
    const lost = new Set((await this.#catalogue.lostStores()).map(({ name }) => name));
    const { ranges } = await this.#catalogue.map();
    assert.ok(!ranges.some(({ store }) => lost.has(store)), 'a range in a lost store');
    for (const { name, memory } of this.#shared) {
      if (lost.has(name)) continue;
      const dirty = await memory.range(prefixRange(storeKey('partition', 'dirty')), wholePage);
      assert.equal(dirty.entries.length, 0, `notes of no operation in ${name}`);
    }
    const stores = this.#shared.map(({ name, memory }) => [name, memory] as const);
    const members = new Members(storeNames[0], new Map(stores));
    const { clock, timers } = this.#scheduler;
    const findings = await verify({ catalogue: this.#catalogue, members, clock, timers });
    // A process that came too late may have left a guard that serves nobody.
    const wrong = findings.filter((each) => each.kind !== 'stray guard' || each.serves);
    assert.deepEqual(wrong, []);
    await this.#checkGuards();
  }

  /** At most one store answers calls of a range. */
  async #checkGuards(): Promise<void> {
    const serving = new Map<unknown, string>();
    for (const { name, memory } of this.#shared) {
      for (const { key, value } of (await memory.range(guardRows, wholePage)).entries) {
        const { state } = decodeGuardRow(value);
        if (state === 'moved' || state === 'incoming') continue;
        const range = decodeTuple(key).at(-1);
        const other = serving.get(range);
        assert.equal(other, undefined, `range ${String(range)} serves in ${other} and ${name}`);
        serving.set(range, name);
      }
    }
  }

  async #opened(name: string): Promise<PartitionedStore> {
    const process = this.#process(name, frontEndSlowness);
    const randomness = randomnessOf(new SimRandom(this.#random.int(2 ** 31)));
    for (;;) {
      const opening = openPartitionedStore({
        members: this.#members(process, 'front end'),
        clock: this.#scheduler.clock,
        timers: this.#scheduler.timers,
        randomness,
      });
      try {
        return await this.#settled(opening);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    }
  }

  #queueService(store: PartitionedStore): QueueService {
    const randomness = randomnessOf(new SimRandom(this.#random.int(2 ** 31)));
    return queueServiceOf(store, { clock: this.#scheduler.clock, randomness });
  }

  #members(process: SimProcess, role: 'front end' | 'mover'): Members {
    const stores = this.#shared.map((shared) => {
      return [shared.name, this.#storeOf(shared, process, role)] as const;
    });
    return new Members(storeNames[0], new Map(stores));
  }

  #storeOf(shared: SharedStore, process: SimProcess, role: 'front end' | 'mover'): SimStore {
    return new SimStore({
      shared,
      scheduler: this.#scheduler,
      process,
      role,
      without: this.#without,
      isFaulty: () => this.#isFaulty,
      onFence: () => holds(() => this.#checkGuards()),
    });
  }

  #process(name: string, slowness = 0): SimProcess {
    return { name, isAlive: true, slowness };
  }

  /** Steps until the work is done. */
  async #settled<Result>(work: Promise<Result>, beside?: () => Promise<void>): Promise<Result> {
    const state = { isSettled: false };
    const noted = work.finally(() => (state.isSettled = true));
    noted.catch(() => undefined);
    while (!state.isSettled) {
      await beside?.();
      assert.ok(await this.#step(), 'everything waits, and nothing can happen');
    }
    return noted;
  }

  async #step(): Promise<boolean> {
    if (this.#problem !== undefined) throw this.#problem;
    assert.ok(this.#scheduler.steps < stepsMax, 'the run does not end');
    return this.#scheduler.step();
  }
}
