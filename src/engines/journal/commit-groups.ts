import { atEndOfTurn } from '../../base/async/turns.js';
import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { GuardError } from '../../kv/errors.js';
import {
  PendingCommits,
  type CommitStats,
  type PendingCommit,
  type Work,
} from '../../kv/pending-commits.js';
import type { CommitResult } from '../../kv/store.js';
import { addKeysOf, Evaluation, type Evaluated, type Found, type Outcome } from './evaluation.js';
import { changeBytes } from './frame-change.js';

/** The maximum size of a group, which becomes one frame of the journal. */
const groupBytesMax = 2 * 1024 * 1024;

/** The state that groups of commits are evaluated against and applied to. */
export interface CommitTarget {
  /** Waits until there is room for changes of this size. Rejects when there will be none. */
  makeRoom(bytes: number): Promise<void>;
  /** The current value of each key. Only `apply` changes it. */
  read(keys: readonly Bytes[]): Promise<readonly Found[]>;
  lastVersion(): number;
  /** Makes the changes durable, then visible to reads. */
  apply(changes: readonly Evaluated[], lastVersion: number): Promise<void>;
}

/** Runs work in groups, in order of arrival. A group is what arrived during the previous one. */
export class CommitGroups {
  readonly #target: CommitTarget;
  readonly #clock: Clock;
  readonly #waiting = new PendingCommits(groupBytesMax);
  #running: Promise<void> | undefined;
  #commits = 0;
  #syncs = 0;

  constructor(target: CommitTarget, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
  }

  /** Rejects with `GuardError` when the guard of the work does not hold. */
  carryOut(work: Work): Promise<CommitResult> {
    const result = this.#waiting.add(work, bytesOf(work));
    this.#running ??= this.#run();
    return result;
  }

  /** Resolves when all work so far has settled. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  stats(): CommitStats {
    return { commits: this.#commits, syncs: this.#syncs };
  }

  async #run(): Promise<void> {
    while (!this.#waiting.isEmpty) {
      // Work of the same turn joins the group, because a write costs much more than the wait.
      await new Promise<void>(atEndOfTurn);
      const group = this.#waiting.take();
      try {
        await this.#runGroup(group);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#running = undefined;
  }

  async #runGroup(all: readonly PendingCommit[]): Promise<void> {
    await this.#target.makeRoom(all.reduce((sum, { bytes }) => sum + bytes, 0));
    const lastVersion = this.#target.lastVersion();
    const { group, found } = await this.#readFor(all);
    const evaluation = new Evaluation({
      lastVersion,
      nowMicros: () => this.#clock.nowMicros(),
      found,
      isOfOne: group.length === 1,
    });
    const outcomes = group.map(({ work }) => tried(evaluation, work));
    // An ingestion can change entries without raising the last version.
    if (evaluation.lastVersion > lastVersion || evaluation.changes.length > 0) {
      await this.#target.apply(evaluation.changes, evaluation.lastVersion);
      this.#syncs += 1;
    }
    this.#commits += group.length;
    for (const [index, pending] of group.entries()) settle(pending, outcomes[index]);
  }

  /**
   * Reads what the outcomes depend on, at once. If that fails, reads it for each piece of work, so
   * that a damaged entry fails only the work that needs it, which leaves the group.
   */
  async #readFor(all: readonly PendingCommit[]): Promise<ReadGroup> {
    try {
      return { group: all, found: await this.#read(all) };
    } catch (error) {
      if (all.length === 1) throw error;
    }
    const group: PendingCommit[] = [];
    const found: Found[] = [];
    for (const pending of all) {
      try {
        found.push(...(await this.#read([pending])));
        group.push(pending);
      } catch (error) {
        pending.reject(error);
      }
    }
    return { group, found };
  }

  async #read(group: readonly PendingCommit[]): Promise<readonly Found[]> {
    const keys: Bytes[] = [];
    for (const { work } of group) addKeysOf(work, keys);
    return keys.length === 0 ? [] : this.#target.read(keys);
  }
}

/** Work with the entries at its keys from `addKeysOf`, in order. */
interface ReadGroup {
  readonly group: readonly PendingCommit[];
  readonly found: readonly Found[];
}

/** The error of work that could not be evaluated; it has no changes. */
class EvaluationFailure {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

function tried(evaluation: Evaluation, work: Work): Outcome | EvaluationFailure {
  try {
    return evaluation.evaluate(work);
  } catch (error) {
    return new EvaluationFailure(error);
  }
}

/** Settles the promise of one piece of work. Called when its group is durable. */
function settle(
  { resolve, reject }: PendingCommit,
  outcome: Outcome | EvaluationFailure | undefined,
): void {
  invariant(outcome !== undefined, 'every piece of work was tried');
  if (outcome instanceof EvaluationFailure) reject(outcome.reason);
  else if (outcome instanceof GuardError) reject(outcome);
  else resolve(outcome);
}

function bytesOf(work: Work): number {
  let bytes = 0;
  if (work.kind === 'ingest') {
    for (const entry of work.ingestion.entries) bytes += changeBytes(entry);
    for (const key of work.ingestion.deletes) bytes += changeBytes({ key, value: undefined });
    return bytes;
  }
  const { puts, deletes, adds = [] } = work.batch;
  for (const put of puts) bytes += changeBytes(put);
  for (const key of deletes) bytes += changeBytes({ key, value: undefined });
  for (const { key } of adds) bytes += changeBytes({ key, value: counterPlace });
  return bytes;
}

const counterPlace = new Uint8Array(8);
