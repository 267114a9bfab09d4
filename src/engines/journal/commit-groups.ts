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

/** Of a group, which is one frame of the journal. */
const groupBytesMax = 2 * 1024 * 1024;

/** What groups of commits are tried upon, and what becomes of their changes. */
export interface CommitGround {
  /** Resolves when there is room for changes of so many bytes. Rejects when there will be none. */
  makeRoom(bytes: number): Promise<void>;
  /** What is at each key now. Only `apply` changes it. */
  read(keys: readonly Bytes[]): Promise<readonly Found[]>;
  lastVersion(): number;
  /** Makes the changes durable, and then to be seen. */
  apply(changes: readonly Evaluated[], lastVersion: number): Promise<void>;
}

/** Carries out work in groups, in order: what has arrived while the group before was written. */
export class CommitGroups {
  readonly #ground: CommitGround;
  readonly #clock: Clock;
  readonly #waiting = new PendingCommits(groupBytesMax);
  #running: Promise<void> | undefined;
  #commits = 0;
  #syncs = 0;

  constructor(ground: CommitGround, clock: Clock) {
    this.#ground = ground;
    this.#clock = clock;
  }

  /** Rejects with `GuardError` where the guard of the work does not stand. */
  carryOut(work: Work): Promise<CommitResult> {
    const result = this.#waiting.add(work, bytesOf(work));
    this.#running ??= this.#run();
    return result;
  }

  /** Resolves when all work that was begun has settled. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  stats(): CommitStats {
    return { commits: this.#commits, syncs: this.#syncs };
  }

  async #run(): Promise<void> {
    while (!this.#waiting.isEmpty) {
      // What arrives in the same turn joins: a write costs much more than to wait for it.
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

  async #runGroup(group: readonly PendingCommit[]): Promise<void> {
    const keys: Bytes[] = [];
    let bytes = 0;
    for (const pending of group) {
      bytes += pending.bytes;
      addKeysOf(pending.work, keys);
    }
    await this.#ground.makeRoom(bytes);
    const lastVersion = this.#ground.lastVersion();
    const evaluation = new Evaluation({
      lastVersion,
      nowMicros: () => this.#clock.nowMicros(),
      found: keys.length === 0 ? [] : await this.#ground.read(keys),
      isOfOne: group.length === 1,
    });
    const outcomes = group.map(({ work }) => tried(evaluation, work));
    // What is ingested may be older than what is there.
    if (evaluation.lastVersion > lastVersion || evaluation.changes.length > 0) {
      await this.#ground.apply(evaluation.changes, evaluation.lastVersion);
      this.#syncs += 1;
    }
    this.#commits += group.length;
    for (const [index, pending] of group.entries()) settle(pending, outcomes[index]);
  }
}

/** What cannot be tried has no changes. */
class Untried {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

function tried(evaluation: Evaluation, work: Work): Outcome | Untried {
  try {
    return evaluation.evaluate(work);
  } catch (error) {
    return new Untried(error);
  }
}

/** When the group is durable. */
function settle({ resolve, reject }: PendingCommit, outcome: Outcome | Untried | undefined): void {
  invariant(outcome !== undefined, 'every piece of work was tried');
  if (outcome instanceof Untried) reject(outcome.reason);
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
