import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import {
  CommitUnknownError,
  GuardError,
  StoreBusyError,
  StoreWriteError,
} from '../../kv/errors.js';
import type { CommitResult } from '../../kv/store.js';
import { messageOf } from '../../base/thrown.js';
import type { StoreCondition } from './condition.js';
import { within } from '../../base/async/deadline.js';
import type { DirectoryLock } from './directory-lock.js';
import { reasonText } from './disk-error.js';
import type { Environment } from './environment.js';
import { bytesOf, GroupWriter, type Work } from './group-writer.js';
import { writeTransaction } from './write-transaction.js';

/** One group's bounds: it runs on the main thread and holds the lock that all writers share. */
const groupCommitsMax = 512;
const groupBytesMax = 8 * 1024 * 1024;
/** Commits that may wait for their group. More mean that the disk has stopped taking any. */
const waitingCommitsMax = 65_536;
/** A group that is not written after this long never will be: its writer is stuck. */
export const stallMs = 60_000;
/** The same for one that changes everything. */
const rewriteStallMs = 10 * stallMs;

type Result = CommitResult | GuardError;

interface Pending {
  readonly work: Work;
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
 * arrived while the group before was being written.
 */
export class GroupCommit {
  readonly #environment: Environment;
  readonly #writer: GroupWriter;
  readonly #parts: GroupCommitParts;
  readonly #waiting: Pending[] = [];
  #running: Promise<void> | undefined;
  #commits = 0;
  #syncs = 0;

  constructor(environment: Environment, parts: GroupCommitParts) {
    this.#environment = environment;
    this.#writer = new GroupWriter(environment, parts.clock);
    this.#parts = parts;
  }

  /** Rejects with `GuardError` where the guard of the work does not stand. */
  carryOut(work: Work): Promise<CommitResult> {
    const refusal = this.#parts.condition.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (this.#waiting.length >= waitingCommitsMax) {
      return Promise.reject(new StoreBusyError());
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, bytes: bytesOf(work), resolve, reject });
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
      const refused = writeError(error);
      const failure = this.#parts.condition.classify(refused.cause);
      if (failure !== undefined) return this.#rejectAll(group, [], failure);
      // Nothing was taken when the transaction could not begin.
      if (group.length === 0) group = this.#takeGroup();
      if (group.length === 1) group[0]?.reject(refused);
      else await this.#runOneByOne(group);
    }
  }

  /** After a group failed: what one commit cannot do must not keep the others from being done. */
  async #runOneByOne(group: readonly Pending[]): Promise<void> {
    for (const [index, pending] of group.entries()) {
      let begun: readonly Pending[] = [];
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

  /** What is written to a file that nobody may find again is not acknowledged. */
  #settle(group: readonly Pending[], results: readonly Result[]): void {
    const detachment = this.#parts.condition.detachment();
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index];
      if (result === undefined) reject(new StoreWriteError('The commit was not carried out.'));
      else if (result instanceof GuardError) reject(result);
      else if (detachment === undefined || !result.ok) resolve(result);
      else reject(unknownOutcome(detachment.cause));
    }
  }

  /** `begun`: those that may have been written. The others never will be. */
  #rejectAll(begun: readonly Pending[], left: readonly Pending[], failure: Error): void {
    for (const pending of begun) pending.reject(unknownOutcome(failure));
    for (const pending of [...left, ...this.#waiting.splice(0)]) pending.reject(failure);
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
  async #transact(take: () => readonly Pending[]): Promise<readonly Result[]> {
    const change = () => this.#writer.apply(take().map(({ work }) => work));
    const results = await this.#guarded(change, stallMs);
    this.#commits += results.length;
    if (results.some((result) => 'version' in result)) this.#syncs += 1;
    return results;
  }

  /** Runs a write transaction, unless the store has failed or belongs to somebody else by then. */
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

export function unknownOutcome(cause: unknown): CommitUnknownError {
  const text = `Whether the commit was applied is not known: ${messageOf(cause)}`;
  return new CommitUnknownError(text, { cause });
}
