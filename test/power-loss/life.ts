import type { Clock } from '../../src/base/clock.js';
import { settleJournal } from '../../src/engines/journal/settle.js';
import { openJournaledStore } from '../../src/engines/journal/store.js';
import type { JournaledStore, JournaledStoreOptions } from '../../src/engines/journal/store.js';
import { CommitUnknownError, StoreFailedError } from '../../src/kv/errors.js';
import type { StoreSnapshot } from '../../src/kv/snapshots.js';
import type { CommitResult } from '../../src/kv/store.js';
import { manualTimers } from '../support/manual-timers.js';
import type { SimRandom } from '../support/sim-random.js';
import { Wrong, type AskedAlone, type AskedCommit, type Ledger, type State } from './ledger.js';
import { ModelBase } from './model-base.js';
import type { ModelData } from './model-data.js';
import { noFaults, type ModelDisk, type Process } from './model-disk.js';
import { Schedule } from './schedule.js';
import { batchOf, drawCommit, keyOf, stateOf } from './work.js';

/** Protections that can be disabled, to show that the simulation notices. */
export const protections = [
  'checksum',
  'sync',
  'sequence',
  'read-sync',
  'base-sync',
  'base-order',
  'removal-order',
] as const;
export type Without = (typeof protections)[number];

export interface World {
  readonly random: SimRandom;
  readonly disk: ModelDisk;
  readonly data: ModelData;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly without: Without | undefined;
  readonly nextSerial: () => number;
}

/** Of a life whose disk is not well. */
const someFaults = { writeFails: 0.1, annulFails: 0.1, createFails: 0.2, baseRefuses: 0.1 };
const atOnceMax = 8;
/** The longest delay of a pass. This disk always answers, so no limit of a write runs out. */
const passDelayMs = 5_000;

/** A process that opens the store, uses it and ends, orderly or at any moment. */
export class Life {
  readonly #world: World;
  readonly #process: Process;
  readonly #timers = manualTimers();
  readonly #options: JournaledStoreOptions;
  #store: JournaledStore | undefined;
  #wrong: Error | undefined;
  #isAlone = false;
  #isReplaced = false;
  #onlyCommits = false;
  #hasFailed = false;
  #snapshot: { readonly taken: StoreSnapshot; readonly state: State } | undefined;
  #known: State = new Map();
  readonly #waiting = new Set<Promise<unknown>>();

  constructor(world: World, health: 'healthy' | 'any' = 'any') {
    const { random, disk, data, clock, without } = world;
    this.#world = world;
    const isFaulty = health === 'any' && random.chance(0.3);
    this.#process = {
      schedule: new Schedule(random),
      random,
      faults: isFaulty ? someFaults : noFaults,
      drops: {
        sync: without === 'sync',
        readSync: without === 'read-sync',
        baseSync: without === 'base-sync',
        baseOrder: without === 'base-order',
        removalOrder: without === 'removal-order',
      },
    };
    this.#options = {
      base: new ModelBase(data, this.#process),
      files: disk.filesFor(this.#process),
      clock,
      timers: this.#timers,
      randomness: { bytes: (count) => random.bytes(count), uuid: () => random.uuid() },
      limits: {
        tableBytesMax: random.pick([4_000, 30_000, 200_000]),
        tableRowsMax: random.pick([20, 1_000]),
        changesMax: random.pick([40, 1_000]),
        filesMax: random.between(3, 6),
        fileBytes: random.pick([32_768, 65_536]),
      },
      onFailed: () => (this.#hasFailed = true),
      ...(without === 'checksum' && { skippedChecks: { checksums: true } }),
      ...(without === 'sequence' && { skippedChecks: { sequences: true } }),
    };
  }

  get isOpen(): boolean {
    return this.#store !== undefined;
  }

  /** True when nothing is in progress. */
  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  /** The violation that it has found. */
  get wrong(): Error | undefined {
    return this.#wrong;
  }

  /** `before`: the process that this one replaces, and that does not know it yet. */
  open(before?: Life): void {
    this.#alone(async () => {
      const store = await openJournaledStore(this.#options);
      if (before !== undefined) before.#isReplaced = true;
      await this.#look(store);
      this.#store = store;
    });
  }

  /** Applies what a journal has left to the data file, like a process without a journal. */
  settle(before?: Life): void {
    this.#alone(async () => {
      await settleJournal(this.#options);
      if (before !== undefined) before.#isReplaced = true;
      await this.#look(this.#world.data.store);
      // A process that was replaced while it opened may still create its folder.
      const isAlone = before === undefined && !this.#onlyCommits;
      if (isAlone && this.#world.disk.folders.length > 0)
        throw new Wrong('a settled journal has left its folder');
    });
  }

  close(): void {
    this.#alone(async () => {
      await this.#store?.close();
      this.#hasFailed = true;
    });
  }

  /** Starts one random operation. */
  act(): void {
    const { random } = this.#world;
    if (this.#store === undefined || this.#isAlone || this.#hasFailed) return;
    if (this.#waiting.size > 0 && !random.chance(0.7)) return;
    if (this.#waiting.size < atOnceMax && random.chance(0.9)) return this.#commit(this.#store);
    if (this.#waiting.size > 0 || this.#onlyCommits) return;
    const acts = { look: 5, ingest: 2, snapshot: 1, restore: 1 };
    const act = random.weighted(acts);
    if (act === 'ingest') this.#ingest(this.#store);
    if (act === 'snapshot') this.#takeSnapshot(this.#store);
    if (act === 'restore') this.#restore(this.#store);
    if (act === 'look') this.#lookAlone(this.#store);
  }

  async advance(): Promise<void> {
    const isIdle = this.#timers.waiting > 0 && !this.#process.schedule.isWaiting;
    if (this.#world.random.chance(0.05) || isIdle) this.#timers.fire(passDelayMs);
    await this.#process.schedule.advance();
    if (this.#wrong !== undefined) throw this.#wrong;
  }

  /** From now on another process uses the data, and this one only commits. */
  onlyCommit(): void {
    this.#onlyCommits = true;
  }

  /** Ends the process at once; nothing of it continues. */
  kill(): void {
    this.#process.schedule.end();
  }

  #commit(store: JournaledStore): void {
    const { random, ledger, nextSerial } = this.#world;
    const commit = drawCommit(random, nextSerial(), this.#known);
    const floor = ledger.lastVersion;
    if (!this.#isReplaced) ledger.add(commit);
    this.#wait(async () => {
      try {
        this.#answered(commit, await store.commit(batchOf(commit)), floor);
      } catch (error) {
        if (error instanceof Wrong) throw error;
        commit.outcome = error instanceof CommitUnknownError ? 'unknown' : 'refused';
      }
    });
  }

  #answered(commit: AskedCommit, result: CommitResult, floor: number): void {
    if (!result.ok) {
      commit.outcome = 'refused';
      return;
    }
    if (this.#isReplaced) throw new Wrong('a process that was replaced acknowledged a commit');
    this.#world.ledger.acknowledge(commit, result.version, floor);
    const known = new Map(this.#known);
    for (const [key, text] of commit.puts) known.set(key, { text, version: result.version });
    for (const key of commit.deletes) known.delete(key);
    this.#known = known;
  }

  #ingest(store: JournaledStore): void {
    const { random, nextSerial } = this.#world;
    const name = `p0/mark${nextSerial()}`;
    const row = `p1/row${random.int(12)}`;
    const gone = `p2/row${random.int(12)}`;
    const version = random.between(1, 1_000_000);
    const entries = [name, row].map((key) => ({
      key: keyOf(key),
      value: Buffer.from(name, 'latin1'),
      version,
    }));
    const apply = (before: State): State => {
      const after = new Map(before);
      for (const key of [name, row]) after.set(key, { text: name, version });
      after.delete(gone);
      return after;
    };
    this.#changeAlone(name, apply, () =>
      store.ingest({ entries, deletes: [keyOf(gone)], floor: 0 }),
    );
  }

  #takeSnapshot(store: JournaledStore): void {
    this.#alone(async () => {
      const taken = await store.takeSnapshot();
      this.#snapshot = { taken, state: await this.#look(store) };
    });
  }

  #restore(store: JournaledStore): void {
    const snapshot = this.#snapshot;
    const state: State = snapshot?.state ?? new Map();
    const apply = () => state;
    this.#changeAlone('restore', apply, () => store.restoreSnapshot(snapshot?.taken));
  }

  #changeAlone(name: string, apply: (before: State) => State, work: () => Promise<void>): void {
    const change: AskedAlone = { kind: 'alone', name, apply, outcome: 'waiting' };
    if (!this.#isReplaced) this.#world.ledger.add(change);
    this.#alone(async () => {
      await work();
      if (this.#isReplaced) throw new Wrong(`a process that was replaced acknowledged ${name}`);
      change.outcome = 'done';
    });
  }

  #lookAlone(store: JournaledStore): void {
    this.#alone(async () => {
      await this.#look(store);
    });
  }

  async #look(store: Parameters<typeof stateOf>[0]): Promise<State> {
    const found = await stateOf(store, this.#world.random.chance(0.5));
    if (!this.#isReplaced) this.#world.ledger.settle(found);
    this.#known = found;
    return found;
  }

  /** A disk error ends the operation; the state is read again before the next one. */
  #alone(work: () => Promise<void>): void {
    this.#isAlone = true;
    this.#wait(async () => {
      try {
        await work();
      } catch (error) {
        if (!isRefusal(error)) throw error;
        // The next opening shows whether it was applied.
        this.#hasFailed = true;
      }
      this.#isAlone = false;
    });
  }

  #wait(work: () => Promise<void>): void {
    const waiting = work().catch((error: unknown) => {
      this.#wrong ??= error instanceof Error ? error : new Error(String(error));
    });
    const settled = waiting.finally(() => this.#waiting.delete(settled));
    this.#waiting.add(settled);
  }
}

/** An error that a process may report, or end with, because of a disk fault. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof CommitUnknownError || error instanceof StoreFailedError) return true;
  return error.name === 'StoreWriteError' || /^E[A-Z]+: /.test(error.message);
}
