import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import { addToCounter, counterBytes } from '../../kv/counter.js';
import { StoreWriteError } from '../../kv/errors.js';
import type { Check, CommitBatch, CommitResult } from '../../kv/store.js';
import type { StoreCondition } from './condition.js';
import { within } from './deadline.js';
import type { DirectoryLock } from './directory-lock.js';
import { reasonText } from './disk-error.js';
import type { Environment } from './environment.js';
import { writeTransaction } from './write-transaction.js';

/** One group's bounds: it runs on the main thread and holds the lock that all writers share. */
const groupCommitsMax = 512;
const groupBytesMax = 8 * 1024 * 1024;
/** Commits that may wait for their group. More mean that the disk has stopped taking any. */
const waitingCommitsMax = 65_536;
/** A group that is not written after this long never will be: its writer is stuck. */
const stallMs = 60_000;
/** The same for one that changes everything. */
const rewriteStallMs = 10 * stallMs;

const noBytes = Buffer.alloc(0);
const lastVersionKey = Buffer.from('last-version');

/** The greatest version that any process has given out; 0 before the first. */
export function readLastVersion({ meta }: Environment): number {
  return meta.get(lastVersionKey)?.version ?? 0;
}

interface Pending {
  readonly batch: CommitBatch;
  readonly bytes: number;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: Error) => void;
}

/** How many commits settled, and how many groups wrote them: a durable store syncs once a group. */
export interface CommitStats {
  readonly commits: number;
  readonly syncs: number;
}

export interface GroupCommitParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly condition: StoreCondition;
  /** Nothing is written for a directory that somebody else owns by now. */
  readonly lock: Pick<DirectoryLock, 'isHeld'>;
}

/**
 * Runs waiting commits in groups: one LMDB write transaction, and so one sync, for all that
 * arrived while the group before was being written. Inside the transaction this process is the
 * only writer among all, so checks read the truth and versions rise across processes.
 *
 * The last version used is kept in the environment and written with each group. That makes versions
 * increase over restarts and over clocks that step back.
 */
export class GroupCommit {
  readonly #environment: Environment;
  readonly #parts: GroupCommitParts;
  readonly #waiting: Pending[] = [];
  #running: Promise<void> | undefined;
  #commits = 0;
  #syncs = 0;

  constructor(environment: Environment, parts: GroupCommitParts) {
    this.#environment = environment;
    this.#parts = parts;
  }

  commit(batch: CommitBatch): Promise<CommitResult> {
    const refusal = this.#parts.condition.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (this.#waiting.length >= waitingCommitsMax) {
      return Promise.reject(new StoreWriteError('Too many commits wait to be written.'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, bytes: batchBytes(batch), resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /**
   * Changes anything in one transaction of its own, behind the commits that were begun, and is
   * refused as a commit is. `change` works on the main thread.
   */
  async rewrite(change: () => void): Promise<void> {
    const { condition } = this.#parts;
    await this.drained();
    // Looks first, as what it changes may be all that there is.
    const refusal = condition.failure ?? condition.detachment();
    if (refusal !== undefined) throw refusal;
    try {
      await this.#guarded(change, rewriteStallMs);
    } catch (error) {
      const refused = writeError(error);
      throw condition.judge(refused.cause) ?? refused;
    }
    const detachment = condition.detachment();
    if (detachment !== undefined) throw detachment;
  }

  /** Resolves when every commit that was begun has settled. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  stats(): CommitStats {
    return { commits: this.#commits, syncs: this.#syncs };
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runGroup();
    this.#running = undefined;
  }

  async #runGroup(): Promise<void> {
    let group: readonly Pending[] = [];
    try {
      const take = () => (group = this.#takeGroup());
      const results = await this.#transact(take);
      this.#settle(group, results);
    } catch (error) {
      if (group.length === 0) group = this.#takeGroup();
      const refused = writeError(error);
      const failure = this.#parts.condition.judge(refused.cause);
      if (failure !== undefined) this.#rejectAll(group, failure);
      else if (group.length === 1) group[0]?.reject(refused);
      else await this.#runOneByOne(group);
    }
  }

  /** After a group failed: what one commit cannot do must not keep the others from being done. */
  async #runOneByOne(group: readonly Pending[]): Promise<void> {
    for (const [index, pending] of group.entries()) {
      try {
        const results = await this.#transact(() => [pending]);
        this.#settle([pending], results);
      } catch (error) {
        const refused = writeError(error);
        const failure = this.#parts.condition.judge(refused.cause);
        if (failure !== undefined) return this.#rejectAll(group.slice(index), failure);
        pending.reject(refused);
      }
    }
  }

  /** What is written to a file that nobody will find again is not acknowledged. */
  #settle(group: readonly Pending[], results: readonly CommitResult[]): void {
    const detachment = this.#parts.condition.detachment();
    for (const [index, pending] of group.entries()) {
      const result = results[index];
      if (result !== undefined && detachment === undefined) pending.resolve(result);
      else pending.reject(detachment ?? new StoreWriteError('The commit was not carried out.'));
    }
  }

  /** Those of a group whose fate is not known, and those that will not be tried. */
  #rejectAll(group: readonly Pending[], failure: Error): void {
    for (const pending of group) pending.reject(failure);
    for (const pending of this.#waiting.splice(0)) pending.reject(failure);
  }

  #takeGroup(): readonly Pending[] {
    let count = 0;
    let bytes = 0;
    for (const pending of this.#waiting) {
      bytes += pending.bytes;
      if (count > 0 && (count >= groupCommitsMax || bytes > groupBytesMax)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /**
   * The group is taken when the transaction has begun, so that what arrived in between joins it. A
   * child transaction, because that can be undone when something throws between two writes.
   */
  async #transact(take: () => readonly Pending[]): Promise<readonly CommitResult[]> {
    const results = await this.#guarded(() => this.#apply(take()), stallMs);
    this.#commits += results.length;
    if (results.some((result) => result.ok)) this.#syncs += 1;
    return results;
  }

  /** Runs a write transaction, unless the store has failed or belongs to somebody else by then. */
  #guarded<Result>(change: () => Result, limitMs: number): Promise<Result> {
    const { condition, lock, timers } = this.#parts;
    const work = writeTransaction(this.#environment.root, () => {
      if (condition.failure !== undefined) throw condition.failure;
      if (!lock.isHeld()) throw condition.fail('another process took over its data directory.');
      return change();
    });
    const late = () => condition.fail(`a commit did not end within ${limitMs / 1000} s.`);
    return within(work, { limitMs, timers, late });
  }

  #apply(group: readonly Pending[]): readonly CommitResult[] {
    const { meta } = this.#environment;
    const before = readLastVersion(this.#environment);
    let version = before;
    const results = group.map(({ batch }): CommitResult => {
      const failed = this.#firstFailed(batch.checks);
      if (failed !== undefined) return failed;
      version = Math.max(this.#parts.clock.nowMicros(), version + 1);
      this.#write(batch, version);
      return { ok: true, version };
    });
    if (version > before) meta.put(lastVersionKey, noBytes, version);
    return results;
  }

  #firstFailed(checks: readonly Check[]): CommitResult | undefined {
    for (let index = 0; index < checks.length; index += 1) {
      const check = checks[index];
      if (check === undefined) continue;
      const actual = this.#versionOf(check.key);
      const holds = check.version === 'present' ? actual !== 'absent' : actual === check.version;
      if (!holds) return { ok: false, failedCheck: index, actual };
    }
    return undefined;
  }

  #versionOf(key: Bytes): number | 'absent' {
    return this.#environment.entries.get(key)?.version ?? 'absent';
  }

  #write(batch: CommitBatch, version: number): void {
    const { entries } = this.#environment;
    for (const key of batch.deletes) entries.remove(key);
    for (const { key, value } of batch.puts) entries.put(key, value, version);
    if (batch.adds === undefined) return;
    // Reads what the commits before this one in its group have added.
    for (const { key, delta } of batch.adds) {
      entries.put(key, addToCounter(entries.get(key)?.value, delta), version);
    }
  }
}

function batchBytes(batch: CommitBatch): number {
  let bytes = 0;
  for (const { key, value } of batch.puts) bytes += key.length + value.length;
  for (const key of batch.deletes) bytes += key.length;
  if (batch.adds === undefined) return bytes;
  for (const { key } of batch.adds) bytes += key.length + counterBytes;
  return bytes;
}

function writeError(reason: unknown): StoreWriteError {
  const text = `The commit could not be written: ${reasonText(reason)}`;
  return new StoreWriteError(text, { cause: reason });
}
