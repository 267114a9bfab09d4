import type { Clock } from '../../base/clock.js';
import { StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import { writtenBytes, type CommitStats, type Work } from '../../kv/pending-commits.js';
import type { CommitResult } from '../../kv/store.js';
import type { BatchCall, CommitForm } from './commit-form.js';
import { mayBeOfOneCommit } from './failures.js';
import type { Outcome } from './outcomes.js';
import type { Session } from './session.js';
import { inLockOrder } from './slots.js';
import { WriteQueue, type Group, type PendingWork } from './write-queue.js';

/**
 * The commits of a failed group are sent alone, one by one. When this many have failed because of
 * other transactions, the rest is rejected untried: each would wait for the same locks, as often as
 * a batch is tried.
 */
const failedAloneMax = 3;

/** The part of a session that groups use. */
type BatchSession = Pick<Session, 'apply'>;

export interface GroupCommitOptions {
  readonly sessions: readonly BatchSession[];
  readonly form: CommitForm;
  readonly clock: Pick<Clock, 'nowMicros'>;
}

/**
 * Groups commits into batches. They wait while all writing connections are busy, and never for
 * others to arrive. A connection that becomes free takes as many as may share a round trip.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #waiting = new WriteQueue();
  readonly #idle: BatchSession[];
  readonly #running = new Set<Promise<void>>();
  #commits = 0;
  #syncs = 0;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#idle = [...options.sessions];
  }

  /** Rejects with `GuardError` when the guard of the work does not hold. */
  carryOut(work: Work, isFence = false): Promise<CommitResult> {
    const result = this.#waiting.add(work, writtenBytes(work), isFence);
    this.#startIdle();
    return result;
  }

  /** Resolves when every commit that was begun has settled. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  stats(): CommitStats {
    return { commits: this.#commits, syncs: this.#syncs };
  }

  #startIdle(): void {
    while (!this.#waiting.isEmpty) {
      const session = this.#idle.pop();
      if (session === undefined) return;
      const running = this.#run(session).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #run(session: BatchSession): Promise<void> {
    // Commits of the same turn share the first round trip.
    await Promise.resolve();
    for (let group = this.#waiting.take(); group !== undefined; group = this.#waiting.take()) {
      await this.#runGroup(session, group);
      this.#waiting.release(group);
      // More works may have waited for this group than one connection takes at once.
      this.#startIdle();
    }
    this.#idle.push(session);
  }

  async #runGroup(session: BatchSession, { works }: Group): Promise<void> {
    try {
      await this.#apply(session, works);
    } catch (error) {
      if (works.length === 1 || !mayBeOfOneCommit(error)) {
        for (const { reject } of works) reject(error);
        return;
      }
      // One bad commit does not fail the others.
      await this.#runEach(session, works);
    }
  }

  /**
   * Carries works out one by one. When several have failed because of other transactions, or one
   * because the database is away, the rest is rejected untried with the same error.
   */
  async #runEach(session: BatchSession, works: readonly PendingWork[]): Promise<void> {
    let failed = 0;
    let given: StoreUnavailableError | undefined;
    for (const work of works) {
      if (given !== undefined) {
        work.reject(given);
        continue;
      }
      try {
        await this.#apply(session, [work]);
      } catch (error) {
        work.reject(error);
        if (!(error instanceof StoreUnavailableError)) continue;
        failed += 1;
        if (failed >= failedAloneMax || !mayBeOfOneCommit(error)) given = error;
      }
    }
  }

  async #apply(session: BatchSession, works: readonly PendingWork[]): Promise<void> {
    const outcomes = await session.apply(this.#callOf(works));
    this.#commits += outcomes.length;
    this.#syncs += 1;
    const alone: PendingWork[] = [];
    for (const [index, work] of works.entries()) {
      if (!this.#settle(work, outcomes[index])) alone.push(work);
    }
    await this.#runEach(session, alone);
  }

  #callOf(works: readonly PendingWork[]): BatchCall {
    const { form, clock } = this.#options;
    const batches = works.flatMap(({ work }) => (work.kind === 'commit' ? [work.batch] : []));
    const [first] = works;
    if (first?.work.kind === 'ingest') {
      return form.ingestion(first.work.ingestion);
    }
    return form.commits(batches, {
      nowMicros: clock.nowMicros(),
      slots: first?.isFence === true ? 'all' : inLockOrder(works.map(({ slots }) => slots)),
    });
  }

  /** False when the work has to be tried again alone. */
  #settle({ resolve, reject, work }: PendingWork, outcome: Outcome | undefined): boolean {
    switch (outcome?.kind) {
      case 'result':
        resolve(outcome.result);
        return true;
      case 'guard':
        reject(outcome.error);
        return true;
      case 'no-counter':
        reject(noCounter());
        return true;
      case 'alone':
        return false;
      default:
        reject(new StoreWriteError(`The database said nothing of a ${work.kind}.`));
        return true;
    }
  }
}

function noCounter(): Error {
  return new StoreWriteError(
    'An addition makes no counter: its sum or its key holds no safe integer.',
  );
}
