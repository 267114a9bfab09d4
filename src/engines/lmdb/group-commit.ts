import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import { GuardError, StoreWriteError, unknownOutcome } from '../../kv/errors.js';
import {
  PendingCommits,
  writtenBytes,
  type CommitStats,
  type PendingCommit,
  type Work,
} from '../../kv/pending-commits.js';
import type { CommitResult } from '../../kv/store.js';
import type { StoreCondition } from './condition.js';
import { within } from '../../base/async/deadline.js';
import type { DirectoryLock } from './directory-lock.js';
import { reasonText } from './disk-error.js';
import type { Environment } from './environment.js';
import { GroupWriter } from './group-writer.js';
import { writeTransaction } from './write-transaction.js';

/** The bytes of a group, which runs on the main thread and holds the writer lock. */
const groupBytesMax = 8 * 1024 * 1024;
/** A group that takes longer than this has a stuck writer. */
export const stallMs = 60_000;
/** A change of the whole content that takes longer than this has a stuck writer. */
const rewriteStallMs = 10 * stallMs;

type Result = CommitResult | GuardError;

export interface GroupCommitParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly condition: StoreCondition;
  /** Nothing is written when another process has become the owner. */
  readonly lock: Pick<DirectoryLock, 'isHeld'>;
}

/**
 * Group commit: one LMDB write transaction, and so one sync, for all commits that arrived while the
 * previous group was written.
 */
export class GroupCommit {
  readonly #environment: Environment;
  readonly #writer: GroupWriter;
  readonly #parts: GroupCommitParts;
  readonly #waiting = new PendingCommits(groupBytesMax);
  #running: Promise<void> | undefined;
  #commits = 0;
  #syncs = 0;

  constructor(environment: Environment, parts: GroupCommitParts) {
    this.#environment = environment;
    this.#writer = new GroupWriter(environment, parts.clock);
    this.#parts = parts;
  }

  /** Rejects with `GuardError` when the guard of the work does not hold. */
  carryOut(work: Work): Promise<CommitResult> {
    const refusal = this.#parts.condition.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const result = this.#waiting.add(work, writtenBytes(work));
    this.#running ??= this.#run();
    return result;
  }

  /**
   * Runs `change` on the main thread in its own write transaction, after the commits that have
   * begun. Refused as a commit is.
   */
  async rewrite(change: () => void): Promise<void> {
    const { condition } = this.#parts;
    await this.drained();
    // Checked first, because the change may replace the whole content.
    const refusal = condition.failure ?? condition.detachment();
    if (refusal !== undefined) throw refusal;
    try {
      await this.#guarded(change, rewriteStallMs);
    } catch (error) {
      const refused = writeError(error);
      throw condition.classify(refused.cause) ?? refused;
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
    while (!this.#waiting.isEmpty) await this.#runGroup();
    this.#running = undefined;
  }

  async #runGroup(): Promise<void> {
    let group: readonly PendingCommit[] = [];
    try {
      const take = () => (group = this.#waiting.take());
      const results = await this.#transact(take);
      this.#settle(group, results);
    } catch (error) {
      const refused = writeError(error);
      const failure = this.#parts.condition.classify(refused.cause);
      if (failure !== undefined) return this.#rejectAll(group, [], failure);
      // The transaction failed to begin, so no group was taken.
      if (group.length === 0) group = this.#waiting.take();
      if (group.length === 1) group[0]?.reject(refused);
      else await this.#runOneByOne(group);
    }
  }

  /**
   * After a failed group: runs each commit alone, so that one bad commit does not fail the others.
   */
  async #runOneByOne(group: readonly PendingCommit[]): Promise<void> {
    for (const [index, pending] of group.entries()) {
      let begun: readonly PendingCommit[] = [];
      try {
        const results = await this.#transact(() => (begun = [pending]));
        this.#settle([pending], results);
      } catch (error) {
        const refused = writeError(error);
        const failure = this.#parts.condition.classify(refused.cause);
        const left = group.slice(index + begun.length);
        if (failure !== undefined) return this.#rejectAll(begun, left, failure);
        pending.reject(refused);
      }
    }
  }

  /** A write to a file that is no longer at its path is not acknowledged. */
  #settle(group: readonly PendingCommit[], results: readonly Result[]): void {
    const detachment = this.#parts.condition.detachment();
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index];
      if (result === undefined) reject(new StoreWriteError('The commit was not carried out.'));
      else if (result instanceof GuardError) reject(result);
      else if (detachment === undefined || !result.ok) resolve(result);
      else reject(unknownOutcome(detachment.cause));
    }
  }

  /** `begun`: commits that may have been written. Those in `left` were not. */
  #rejectAll(
    begun: readonly PendingCommit[],
    left: readonly PendingCommit[],
    failure: Error,
  ): void {
    for (const pending of begun) pending.reject(unknownOutcome(failure));
    for (const pending of [...left, ...this.#waiting.takeAll()]) pending.reject(failure);
  }

  /**
   * Takes the group once the transaction has begun, so that commits that arrived meanwhile join it.
   * Uses a child transaction, which is undone when something throws between two writes.
   */
  async #transact(take: () => readonly PendingCommit[]): Promise<readonly Result[]> {
    const change = () => this.#writer.apply(take().map(({ work }) => work));
    const results = await this.#guarded(change, stallMs);
    this.#commits += results.length;
    if (results.some((result) => 'version' in result)) this.#syncs += 1;
    return results;
  }

  /** Runs a write transaction, unless the store has failed or has a new owner. */
  #guarded<T>(change: () => T, limitMs: number): Promise<T> {
    const { condition, lock, timers } = this.#parts;
    const work = writeTransaction(this.#environment.root, () => {
      if (condition.failure !== undefined) throw condition.failure;
      if (!lock.isHeld()) throw condition.fail('another process took over its data directory.');
      return change();
    });
    const late = () => condition.fail(`a commit did not end within ${limitMs / 1000} s.`);
    return within(work, { limitMs, timers, late });
  }
}

export function writeError(reason: unknown): StoreWriteError {
  const text = `The commit could not be written: ${reasonText(reason)}`;
  return new StoreWriteError(text, { cause: reason });
}
