import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { addToCounter } from '../../kv/counter.js';
import type { GuardError } from '../../kv/errors.js';
import { guardRefusal, type Guard, type GuardedBatch } from '../../kv/guards.js';
import { floorOf, type Ingestion } from '../../kv/ingestion.js';
import type { Work } from '../../kv/pending-commits.js';
import type { Check, CommitResult } from '../../kv/store.js';
import type { Environment } from './environment.js';

const noBytes = Buffer.alloc(0);
/** The record of the engine that a data directory has from its first commit on. */
export const lastVersionKey = Buffer.from('last-version');

/** The greatest version that any process has given out; 0 before the first. */
export function readLastVersion({ meta }: Environment): number {
  return meta.versionOf(lastVersionKey) ?? 0;
}

/**
 * Why a guarded call is refused. Called within the write transaction, or in the snapshot of the
 * read.
 */
export function readGuard({ entries }: Environment, guard: Guard): GuardError | undefined {
  return guardRefusal(guard, entries.versionOf(guard.key) ?? 'absent');
}

/**
 * Applies work items in order. Inside the write transaction this process is the only writer, so
 * checks and guards see the current state and versions increase across processes.
 *
 * The last version is stored with each group, so versions increase across restarts and clock steps.
 */
export class GroupWriter {
  readonly #environment: Environment;
  readonly #clock: Clock;

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment;
    this.#clock = clock;
  }

  /** For use inside a write transaction, which must be aborted when this throws. */
  apply(group: readonly Work[]): readonly (CommitResult | GuardError)[] {
    const { meta } = this.#environment;
    const before = readLastVersion(this.#environment);
    let version = before;
    const results = group.map((work) => {
      const result =
        work.kind === 'commit'
          ? this.#commit(work.batch, version)
          : this.#ingest(work.ingestion, version);
      if ('version' in result) version = result.version;
      return result;
    });
    if (version > before) meta.put(lastVersionKey, noBytes, version);
    return results;
  }

  #commit(batch: GuardedBatch, last: number): CommitResult | GuardError {
    const refusal = batch.guard && readGuard(this.#environment, batch.guard);
    if (refusal !== undefined) return refusal;
    const failed = this.#firstFailed(batch.checks);
    if (failed !== undefined) return failed;
    const version = Math.max(this.#clock.nowMicros(), last + 1);
    this.#write(batch, version);
    return { ok: true, version };
  }

  #ingest(ingestion: Ingestion, last: number): CommitResult | GuardError {
    const { entries } = this.#environment;
    const refusal = ingestion.guard && readGuard(this.#environment, ingestion.guard);
    if (refusal !== undefined) return refusal;
    for (const key of ingestion.deletes) entries.remove(key);
    for (const { key, value, version } of ingestion.entries) entries.put(key, value, version);
    return { ok: true, version: Math.max(last, floorOf(ingestion)) };
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
    return this.#environment.entries.versionOf(key) ?? 'absent';
  }

  #write(batch: GuardedBatch, version: number): void {
    const { entries } = this.#environment;
    for (const key of batch.deletes) entries.remove(key);
    for (const { key, value } of batch.puts) entries.put(key, value, version);
    if (batch.adds === undefined) return;
    // Reads the additions of earlier commits of the same group.
    for (const { key, delta } of batch.adds) {
      entries.put(key, addToCounter(entries.get(key)?.value, delta), version);
    }
  }
}
