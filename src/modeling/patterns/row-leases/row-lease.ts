import type { Clock } from '../../../base/clock.js';
import type { Randomness } from '../../../base/randomness.js';
import { retry } from '../../../base/async/retry.js';
import type { Timers } from '../../../base/async/timers.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import { storedAs, type Stored } from '../../definition/stored-entity.js';
import type { RowKey } from '../../rows/row.js';
import { backOffs } from '../../table/back-offs.js';
import {
  isConflict,
  isConflictOrLost,
  isOvertaken,
  OvertakenError,
  retryConflicts,
} from '../../table/contention.js';
import type { Change } from '../../table/change.js';
import type { Entities } from '../../table/entities.js';
import { EntityNotFoundError, isAmbiguous, LeaseLostError } from '../../table/errors.js';
import { Gate } from '../../../base/async/gate.js';
import type { RowWrite, WriteResult } from '../../table/gateway.js';
import { transaction, type Transaction } from '../../table/transaction.js';
import { newStamp } from '../../table/write-stamp.js';
import { leaseRow, leaseState, type Grant } from './lease-row.js';

const attemptsMax = 24;
const sendsMax = 5;

/** The parts of a lease. */
export interface LeaseParts<D extends AnyDefinition> {
  readonly entities: Entities<D>;
  readonly key: KeyOf<D>;
  readonly lockKey: RowKey;
  readonly grant: Grant;
  readonly etag: string;
  /** Monotonic time just before the granted request was sent. */
  readonly grantedAtMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

/**
 * A lease of one entity, made by `RowLeases`. Each write of the lease row uses the ETag that the
 * holder knows, so once another holder takes over, every later write of the former one fails,
 * whatever their clocks say. Writes of one lease are serial.
 *
 * Each method that sends requests throws `LeaseLostError` when another holder has taken or broken
 * the lease; nothing is written then.
 */
export class RowLease<D extends AnyDefinition> {
  readonly key: KeyOf<D>;
  readonly holder: string;
  /**
   * The fence token: greater than that of every earlier lease of this entity. A store that
   * remembers the greatest one can refuse a holder that does not know that it lost the lease.
   */
  readonly fenceToken: bigint;
  readonly #parts: LeaseParts<D>;
  readonly #gate = new Gate(1);
  #etag: string;
  #termEndMs: number;
  #isReleased = false;

  constructor(parts: LeaseParts<D>) {
    this.#parts = parts;
    this.key = parts.key;
    this.holder = parts.grant.holder;
    this.fenceToken = parts.grant.fenceToken;
    this.#etag = parts.etag;
    this.#termEndMs = parts.grantedAtMs + parts.grant.durationMs;
  }

  /** The rest of the term by the holder's monotonic clock, in milliseconds; 0 at its end. */
  get remainingMs(): number {
    if (this.#isReleased) return 0;
    return Math.max(0, this.#termEndMs - this.#parts.clock.monotonicMs());
  }

  /**
   * Begins another term. One update; after a lost response or a refusal also a point read. A term
   * that has ended is renewed as well, unless another holder has taken the lease since.
   */
  renew(): Promise<void> {
    return this.#gate.run(() => this.#renew());
  }

  /**
   * Releases the lease. One update; after a lost response or a refusal also a point read. Throws
   * `LeaseLostError` when another holder has it, whose lease stays unchanged.
   */
  release(): Promise<void> {
    return this.#gate.run(async () => {
      if (this.#isReleased) return;
      await this.#guarded({ fenceToken: this.fenceToken }, (guard) => this.#writeAlone(guard));
      this.#isReleased = true;
    });
  }

  /**
   * Writes to the entity's partition that are applied only while the lease is held, and that begin
   * another term: one entity group transaction of at most 99 writes and that of the lease. `build`
   * adds them, and runs again when a response was lost. After a lost response or a refusal also a
   * point read. Throws `TransactionFailedError` when the service refuses the writes.
   */
  transact(build: (writes: Transaction) => void): Promise<readonly WriteResult[]> {
    return this.#gate.run(() => this.#transact(build));
  }

  /**
   * Reads the entity, calls `change` and replaces the entity while the lease is held; starts again
   * after a conflict with a writer without a lease. One point read and one entity group transaction
   * for each attempt. `undefined` leaves the entity unchanged. Throws `EntityNotFoundError` when it
   * is absent, and `ContentionError` after 24 attempts, with waits between them.
   */
  update<R extends ReadOf<D>>(change: Change<D, R>): Promise<Stored<ReadOf<D>>> {
    const { entities, key, timers, randomness } = this.#parts;
    const { definition } = entities;
    const attempt = async (): Promise<Stored<ReadOf<D>>> => {
      const current = await entities.get(key);
      if (current === undefined) throw this.#absent();
      const next = await change(current);
      if (next === undefined) return current;
      const whole = { ...next, [storedAs]: current[storedAs] };
      const [result] = await this.#transact((writes) => writes.replace(definition, whole)).catch(
        (error: unknown) => {
          throw isConflict(error) ? new OvertakenError(error) : error;
        },
      );
      const etag = result?.etag ?? '';
      return { ...whole, [storedAs]: { ...current[storedAs], etag, timestamp: 0n } };
    };
    const what = `${definition.type}, beside writers without a lease`;
    const retries = { attemptsMax, timers, randomness };
    // Renewals do not wait for the waits between the attempts.
    const inTurn = () => this.#gate.run(attempt);
    return retryConflicts(what, retries, inTurn, isOvertaken);
  }

  async #renew(): Promise<void> {
    await this.#guarded(this.#parts.grant, (guard) => this.#writeAlone(guard));
  }

  async #transact(build: (writes: Transaction) => void): Promise<readonly WriteResult[]> {
    const { entities, grant, randomness } = this.#parts;
    let count = 0;
    const results = await this.#guarded(grant, async (guard) => {
      const writes = transaction(entities.table, { randomness });
      build(writes);
      count = writes.size;
      const all = await writes.add(guard).run();
      return { etag: all.at(-1)?.etag, value: all.slice(0, -1) };
    });
    return results ?? Array.from({ length: count }, () => ({ etag: undefined }));
  }

  async #writeAlone(guard: RowWrite): Promise<Sent<void>> {
    const { etag } = await this.#parts.entities.table.write(guard);
    return { etag, value: undefined };
  }

  /**
   * Sends a write of the lease row, alone or with others, under the known ETag. Undefined when it
   * was applied and its response was lost. All attempts have one id, because an earlier one may be
   * applied while a later one is under way.
   */
  async #guarded<T>(
    content: Grant | { readonly fenceToken: bigint },
    send: (guard: RowWrite) => Promise<Sent<T>>,
  ): Promise<T | undefined> {
    const { lockKey, clock, timers, randomness } = this.#parts;
    if (this.#isReleased) throw new LeaseLostError(`${this.#what()} was released`);
    const id = newStamp(randomness);
    const row = leaseRow(lockKey, content, id);
    const firstSentAtMs = clock.monotonicMs();
    const attempt = async (): Promise<T | undefined> => {
      const sentAtMs = clock.monotonicMs();
      const etag = this.#etag;
      try {
        const sent = await send({ kind: 'replace', row, etag });
        this.#etag = sent.etag ?? (await this.#etagAfter(id));
        this.#began(sentAtMs);
        return sent.value;
      } catch (error) {
        if (!isConflictOrLost(error)) throw error;
        if (await this.#wasApplied(id)) {
          // By any of the attempts.
          this.#began(firstSentAtMs);
          return undefined;
        }
        // The lease row is unchanged, so another write of the transaction was refused. Attempts
        // whose outcome is unknown can be repeated: the ETag admits only one of them, and their id
        // tells that it was one of these.
        const isRefusal = this.#etag === etag && !isAmbiguous(error);
        throw isRefusal ? error : new OvertakenError(error);
      }
    };
    const backOffMs = backOffs.contention;
    const sends = {
      attemptsMax: sendsMax,
      backOffMs,
      timers,
      randomness,
      isRetryable: isOvertaken,
    };
    return retry(sends, attempt).catch((error: unknown) => {
      throw error instanceof OvertakenError ? error.cause : error;
    });
  }

  #began(sentAtMs: number): void {
    this.#termEndMs = sentAtMs + this.#parts.grant.durationMs;
  }

  /** Finds out whether a write was applied, and the row's ETag. Throws when the lease is lost. */
  async #wasApplied(id: string): Promise<boolean> {
    const { entities, lockKey, grant } = this.#parts;
    const row = await entities.table.get(lockKey);
    const state = row === undefined ? undefined : leaseState(row);
    if (state?.write === id) {
      this.#etag = state.etag;
      return true;
    }
    if (state?.grant?.id !== grant.id) throw this.#lost(state?.grant?.holder);
    this.#etag = state.etag;
    return false;
  }

  async #etagAfter(id: string): Promise<string> {
    await this.#wasApplied(id);
    return this.#etag;
  }

  #lost(by: string | undefined): LeaseLostError {
    const who = by === undefined ? 'it was broken or released' : `'${by}' has it`;
    return new LeaseLostError(`${this.#what()} was lost: ${who}`);
  }

  #absent(): EntityNotFoundError {
    const { entities, key } = this.#parts;
    const { partitionKey, rowKey } = entities.codec.key(key);
    const { table } = entities.table;
    return new EntityNotFoundError(
      `${entities.definition.type}: there is no entity ('${partitionKey}', '${rowKey}')`,
      {
        status: 404,
        code: 'ResourceNotFound',
        request: { table, operation: 'update', partitionKey, rowKey },
      },
    );
  }

  #what(): string {
    const { partitionKey, rowKey } = this.#parts.lockKey;
    return `the lease ${this.fenceToken} of ('${partitionKey}', '${rowKey}')`;
  }
}

interface Sent<T> {
  /** The ETag of the lease row; undefined when unknown. */
  readonly etag: string | undefined;
  readonly value: T;
}
