import { isStoreKey } from '../../src/kv/partition-prefix.js';
import { CommitUnknownError, GuardError, StoreUnavailableError } from '../../src/kv/errors.js';
import type { Guard, Guarded, GuardedBatch, GuardedRangeOptions } from '../../src/kv/guards.js';
import type { Ingestion } from '../../src/kv/ingestion.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import type { RangeSample } from '../../src/kv/sample.js';
import type { CommitBatch, CommitResult, Entry, KeyRange, RangePage } from '../../src/kv/store.js';
import { startsWith, type Bytes } from '../../src/base/bytes.js';
import { storeKey } from '../../src/kv/partition-prefix.js';
import { decodeGuardRow } from '../../src/partition/rows.js';
import type { MemoryStore } from '../../src/engines/memory/store.js';
import type { Scheduler, SimProcess } from './scheduler.js';

/** What the simulation can leave out of the protocol, to show that it notices. */
export const protections = ['barrier', 'dirty-log', 'floor', 'read-guard', 'token'] as const;
export type Without = (typeof protections)[number];

/** How often the answer of a write is lost, and a call fails. */
const lostAnswer = { 'front end': 0.01, mover: 0.001 };
const failedCall = 0.003;
/** How often a commit is applied late, and how much later. */
const lateCommit = 0.1;
const lateTurnsMax = 40;
/**
 * How often what a mover copies or deletes is on its way for long, and how long: the process that
 * takes the operation over has most of its work done by then.
 */
const heldIngestion = 0.1;
const heldTurnsMax = 100;

const dirtyStart = storeKey('partition', 'dirty');

/** What all processes share of a store: its data, and the commits that it has begun to apply. */
export interface SharedStore {
  readonly name: string;
  readonly memory: MemoryStore;
  /** Commits whose guard was found right, and which are not applied yet. */
  admitted: number;
  /** Nobody gets an answer of it. */
  isAway: boolean;
}

export interface SimStoreOptions {
  readonly shared: SharedStore;
  readonly scheduler: Scheduler;
  readonly process: SimProcess;
  readonly role: 'front end' | 'mover';
  readonly without: Without | undefined;
  /** Calls fail from now and then. */
  readonly isFaulty: () => boolean;
  /** A fence has written guards. */
  readonly onFence: () => Promise<void>;
}

/** The commit whose answer was lost, with what came of it: for the oracle alone. */
export class LostAnswerError extends CommitUnknownError {
  readonly result: CommitResult | undefined;

  constructor(result: CommitResult | undefined) {
    super('The answer was lost.');
    this.result = result;
  }
}

/**
 * A store as one process sees it: over a wire that delays, and an engine that compares the guard
 * some time before it applies a commit, as a database may. A fence waits for such commits.
 */
export class SimStore implements MemberStore {
  readonly #options: SimStoreOptions;

  constructor(options: SimStoreOptions) {
    this.#options = options;
  }

  get(key: Bytes, options: Guarded = {}): Promise<Entry | undefined> {
    return this.#read((guarded) => this.#memory.get(key, guarded), options);
  }

  getMany(keys: readonly Bytes[], options: Guarded = {}): Promise<(Entry | undefined)[]> {
    return this.#read((guarded) => this.#memory.getMany(keys, guarded), options);
  }

  range(range: KeyRange, { guard, ...options }: GuardedRangeOptions): Promise<RangePage> {
    const read = (guarded: Guarded) => this.#memory.range(range, { ...options, ...guarded });
    return this.#read(read, guard === undefined ? {} : { guard });
  }

  sample(range: KeyRange, cuts: number, options: Guarded = {}): Promise<RangeSample> {
    return this.#read((guarded) => this.#memory.sample(range, cuts, guarded), options);
  }

  async commit({ guard, ...batch }: GuardedBatch): Promise<CommitResult> {
    return this.#writing(async () => {
      await this.#admit(guard);
      const apply = () => this.#memory.commit(this.#logged(batch));
      return this.#apply(guard, apply);
    });
  }

  async fence(batch: CommitBatch): Promise<CommitResult> {
    this.#options.process.onFence?.(batch);
    return this.#writing(async () => {
      const { shared, without, onFence } = this.#options;
      if (without !== 'barrier') while (shared.admitted > 0) await this.#turn();
      const result = (await this.#withoutToken(batch)) ?? (await this.#memory.fence(batch));
      await onFence();
      return result;
    });
  }

  async ingest({ guard, ...ingestion }: Ingestion): Promise<void> {
    const { without } = this.#options;
    await this.#hold();
    await this.#arrive();
    await this.#admit(guard);
    const floor = without === 'floor' ? 0 : ingestion.floor;
    const apply = () => this.#memory.ingest({ ...ingestion, floor });
    await this.#apply(guard, apply);
    await this.#turn();
  }

  async close(): Promise<void> {
    await this.#arrive();
  }

  get #memory(): MemoryStore {
    return this.#options.shared.memory;
  }

  async #read<Result>(
    read: (guarded: Guarded) => Promise<Result>,
    { guard }: Guarded,
  ): Promise<Result> {
    await this.#arrive();
    const drops = this.#options.without === 'read-guard' && this.#options.role === 'front end';
    const settled = await read(guard === undefined || drops ? {} : { guard }).then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    await this.#turn();
    return settled();
  }

  /** Sends a write, whose answer may be lost, whether it was applied or not. */
  async #writing(write: () => Promise<CommitResult>): Promise<CommitResult> {
    const { role, scheduler, isFaulty } = this.#options;
    const { random } = scheduler;
    // Processes that end what is left after a run have no such trouble.
    const lost = random.chance(lostAnswer[role]) && (role === 'front end' || isFaulty());
    await this.#arrive();
    if (lost && random.chance(0.5)) throw await this.#answer(new LostAnswerError(undefined));
    const result = await write();
    await this.#turn();
    if (lost) throw new LostAnswerError(result);
    return result;
  }

  async #arrive(): Promise<void> {
    await this.#turn();
    const { scheduler, isFaulty, shared } = this.#options;
    if (shared.isAway) throw await this.#answer(new StoreUnavailableError('It is away.'));
    if (!isFaulty() || !scheduler.random.chance(failedCall)) return;
    throw await this.#answer(new StoreUnavailableError('The simulation lets this call fail.'));
  }

  async #hold(): Promise<void> {
    const { scheduler, isFaulty } = this.#options;
    if (!isFaulty() || !scheduler.random.chance(heldIngestion)) return;
    for (let turns = scheduler.random.int(heldTurnsMax); turns > 0; turns -= 1) await this.#turn();
  }

  /** Compares the guard; the commit is applied some time later. */
  async #admit(guard: Guard | undefined): Promise<void> {
    if (guard === undefined) return;
    const actual = (await this.#memory.get(guard.key))?.version ?? 'absent';
    if (actual !== guard.version) throw await this.#answer(new GuardError(actual));
    this.#options.shared.admitted += 1;
  }

  async #apply<Result>(guard: Guard | undefined, apply: () => Promise<Result>): Promise<Result> {
    const { shared, scheduler, process } = this.#options;
    if (guard === undefined) return apply();
    const { random } = scheduler;
    const turns = random.chance(lateCommit) ? random.int(lateTurnsMax) : 1;
    for (let turn = 0; turn < turns; turn += 1) await scheduler.turn(process);
    // What a dead process has sent may be applied or not.
    const isLost = !process.isAlive && random.chance(0.5);
    try {
      if (!isLost) return await apply();
    } finally {
      shared.admitted -= 1;
    }
    return new Promise(() => undefined);
  }

  /**
   * A process that takes an operation over writes its token into the guards, which gives them new
   * versions. Without that, the guard keeps its version, so the process before is not refused.
   */
  async #withoutToken({ checks, puts, deletes }: CommitBatch): Promise<CommitResult | undefined> {
    const [check, put] = [checks[0], puts[0]];
    if (this.#options.without !== 'token' || check === undefined || put === undefined) {
      return undefined;
    }
    const isTaking = puts.length === 1 && deletes.length === 0;
    const guard = isTaking ? await this.#memory.get(put.key) : undefined;
    if (guard === undefined || guard.version !== check.version) return undefined;
    if (decodeGuardRow(guard.value).state !== decodeGuardRow(put.value).state) return undefined;
    const { version } = guard;
    const entries = [{ key: put.key, value: put.value, version }];
    await this.#memory.ingest({ entries, deletes: [], floor: 0 });
    return { ok: true, version };
  }

  #logged(batch: CommitBatch): CommitBatch {
    if (this.#options.without !== 'dirty-log') return batch;
    const puts = batch.puts.filter(({ key }) => !isStoreKey(key) || !startsWith(key, dirtyStart));
    return { ...batch, puts };
  }

  async #answer<Problem extends Error>(error: Problem): Promise<Problem> {
    await this.#turn();
    return error;
  }

  /** Never resolves for a dead process. */
  async #turn(): Promise<void> {
    const { scheduler, process } = this.#options;
    await scheduler.turn(process);
    if (!process.isAlive) await new Promise(() => undefined);
  }
}
