import { backOff } from '../../../base/async/back-off.js';
import { systemClock, type Clock } from '../../../base/clock.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { sleep } from '../../../base/async/sleep.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf } from '../../definition/shapes.js';
import { Instant } from '../../rows/instant.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import { backOffs } from '../../table/back-offs.js';
import { putOver } from '../../table/conditional-write.js';
import { isConflictOrLost, retryConflicts } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { DefinitionError, ModelError, ValueError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { LeaseRenewal } from '../../table/lease-renewal.js';
import { newStamp } from '../../table/write-stamp.js';
import { LeaseHeldError } from './lease-held-error.js';
import { leaseKey, leaseRow, leaseState, type Grant, type LeaseState } from './lease-row.js';
import { RowLease } from './row-lease.js';

/** The options of row leases. */
export interface RowLeasesOptions {
  /** Names the holder, for people: for example a host and a process. Need not be unique. */
  readonly holder: string;
  /** The term of a lease in milliseconds; 30,000 when absent, at least 100. */
  readonly durationMs?: number;
  /**
   * The allowed difference between the clocks of the machine and the service, in milliseconds;
   * 5,000 when absent. With `Infinity` no wall clock is trusted: an abandoned lease is then only
   * taken over by a program that has watched it for its whole term.
   */
  readonly clockSkewMs?: number;
  /** The wait between reads of a lease that is held, in milliseconds. */
  readonly pollMs?: { readonly first: number; readonly last: number };
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

export interface AcquireOptions {
  /** How long to wait for a lease that another holder has, in milliseconds; 0 when absent. */
  readonly waitMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** The holder of a lease. */
export interface LeaseHolder {
  readonly holder: string;
  readonly fenceToken: bigint;
  /** When the term ends by the service's clock, unless it is renewed. */
  readonly until: Instant;
}

const durationMsDefault = 30_000;
const durationMsMin = 100;
const clockSkewMsDefault = 5_000;
const pollMsDefault = backOffs.leasePoll;
/** The allowed ratio between the rates of two clocks. */
const rateMargin = 1.01;

/** Sends over one version of a lease row before `acquire` fails. */
const sendsMax = 5;

/** A lease row as it was read, and since when it has been unchanged. */
interface WatchedVersion {
  readonly etag: string;
  readonly sinceMs: number;
}

/** The writes sent over one version of a lease row that were not answered by a grant. */
interface Sends {
  /** Undefined: there was no row. */
  readonly etag: string | undefined;
  /** Monotonic time before the first of them: any may have been applied. */
  readonly firstMs: number;
  readonly errors: readonly unknown[];
}

/**
 * Leases of the entities of a definition: one holder at a time, until it releases the lease or its
 * term ends. For work on an entity that outlasts a request, such as calling another system; for a
 * change of only the entity, `update` is enough.
 *
 * The holder counts its term on its monotonic clock, from before it sent the request. Others take a
 * lease over when the end of the term, by the row's Timestamp, is past on their wall clock by more
 * than `clockSkewMs`, or when they have watched the row unchanged for a term and 1 % on their
 * monotonic clock. So two can hold a lease at once only if wall clocks differ by more than that, or
 * if a holder's process or machine is paused without noticing. Even then `RowLease.transact` and
 * `update` of the former holder are refused, and `token` shows other stores which lease is older.
 */
export class RowLeases<D extends AnyDefinition> {
  readonly entities: Entities<D>;
  readonly #holder: string;
  readonly #durationMs: number;
  readonly #skewMs: number;
  readonly #pollMs: { readonly first: number; readonly last: number };
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #randomness: Randomness;

  /**
   * Throws `ValueError` and `DefinitionError` for options and definitions that do not allow leases.
   * Sends nothing.
   */
  constructor(definition: D, table: TableGateway, options: RowLeasesOptions) {
    const { durationMs = durationMsDefault, clockSkewMs = clockSkewMsDefault } = options;
    if (!Number.isSafeInteger(durationMs) || durationMs < durationMsMin) {
      throw new ValueError(
        `a lease of ${durationMs} ms; give a whole number from ${durationMsMin}`,
      );
    }
    if (!(clockSkewMs >= 0)) throw new ValueError(`clocks ${clockSkewMs} ms apart; give 0 or more`);
    if (definition.system.type === undefined) {
      const text = `${definition.type} stores no type, so its rows cannot be told from their leases`;
      throw new DefinitionError(text);
    }
    this.#clock = options.clock ?? systemClock;
    this.#timers = options.timers ?? holdingTimers;
    this.#randomness = options.randomness ?? systemRandomness;
    this.entities = new Entities(definition, table, options);
    this.#holder = options.holder;
    this.#durationMs = durationMs;
    this.#skewMs = clockSkewMs;
    this.#pollMs = options.pollMs ?? pollMsDefault;
  }

  /**
   * Takes the lease of an entity, which need not exist yet. One point read and one insert or
   * update; one more point read for each look while it waits, and after a lost response, to
   * recognise a lease that was granted. Throws `LeaseHeldError` when it is held for longer than
   * `waitMs`, even by another lease of this program, and the last error when the service fails five
   * writes in a row; a lease that it granted all the same ends with its term.
   */
  async acquire(key: KeyOf<D>, { waitMs = 0, signal }: AcquireOptions = {}): Promise<RowLease<D>> {
    const lockKey = leaseKey(this.entities.codec.key(key));
    const { table } = this.entities;
    const deadlineMs = this.#clock.monotonicMs() + waitMs;
    const id = this.#randomness.uuid();
    let sends: Sends | undefined;
    let watched: WatchedVersion | undefined;
    for (let looks = 1; ; looks++) {
      const row = await table.get(lockKey);
      const state = row === undefined ? undefined : leaseState(row);
      if (state?.grant?.id === id) return this.#lease(key, state.grant, state.etag, sends?.firstMs);
      const nowMs = this.#clock.monotonicMs();
      if (watched?.etag !== state?.etag) watched = state && { etag: state.etag, sinceMs: nowMs };
      if (state?.grant === undefined || this.#isOver(state, state.grant, watched)) {
        sends = await this.#sendsOver(state, sends, signal);
        const taken = await this.#take(key, this.#grant(id, state?.fenceToken ?? 0n), state);
        if (taken.kind === 'lease') return taken.lease;
        // Either a conflict or a lost response, which the next read distinguishes.
        sends = { ...sends, errors: [...sends.errors, taken.error] };
        continue;
      }
      signal?.throwIfAborted();
      const leftMs = deadlineMs - this.#clock.monotonicMs();
      if (leftMs <= 0) throw this.#held(key, state);
      const pause = Math.min(leftMs, backOff(this.#pollMs, looks, this.#randomness));
      await sleep(this.#timers, pause, signal);
    }
  }

  /**
   * Runs `work` under a lease: acquires it as `acquire` does, renews it after half of each term,
   * and releases it. The signal is aborted with a `LeaseLostError` when the term ends without a
   * renewal, or the lease is broken or taken: `work` must stop then. Rejects with the error of
   * `work`, or with `LeaseLostError` when the lease was lost meanwhile.
   */
  async withLease<T>(
    key: KeyOf<D>,
    work: (lease: RowLease<D>, signal: AbortSignal) => Promise<T>,
    options: AcquireOptions = {},
  ): Promise<T> {
    const lease = await this.acquire(key, options);
    const term = new LeaseRenewal({
      what: `the lease of a ${this.entities.definition.type}`,
      termMs: this.#durationMs,
      grantedAtMs: this.#clock.monotonicMs() - (this.#durationMs - lease.remainingMs),
      clock: this.#clock,
      timers: this.#timers,
      renew: async () => {
        await lease.renew();
        return this.#durationMs;
      },
    });
    let result: T;
    try {
      result = await work(lease, term.signal);
    } catch (error) {
      await term.end();
      await this.#releaseQuietly(lease);
      throw error;
    }
    await term.end();
    await lease.release();
    return result;
  }

  /** The holder of the lease of an entity; undefined when there is none. One point read. */
  async holderOf(key: KeyOf<D>): Promise<LeaseHolder | undefined> {
    const row = await this.entities.table.get(leaseKey(this.entities.codec.key(key)));
    const state = row === undefined ? undefined : leaseState(row);
    if (state?.grant === undefined || this.#isOver(state, state.grant, undefined)) return undefined;
    return { holder: state.grant.holder, fenceToken: state.fenceToken, until: state.until };
  }

  /**
   * Breaks a lease of any holder, who notices it at its next write or renewal. One point read and
   * one update, repeated after a conflict with the holder or the client's own repetition; a lease
   * that is granted meanwhile is not broken. Returns false when there was no holder.
   */
  async break(key: KeyOf<D>): Promise<boolean> {
    const { table } = this.entities;
    const lockKey = leaseKey(this.entities.codec.key(key));
    const options = { timers: this.#timers, randomness: this.#randomness };
    const id = newStamp(this.#randomness);
    let meant: string | undefined;
    return retryConflicts(`breaking the lease '${lockKey.rowKey}'`, options, async () => {
      const row = await table.get(lockKey);
      const state = row === undefined ? undefined : leaseState(row);
      if (state?.write === id) return true;
      // The intended lease is over: its holder, or an attempt without an answer, ended it.
      if (meant !== undefined && state?.grant?.id !== meant) return true;
      if (state?.grant === undefined) return false;
      meant = state.grant.id;
      const free = leaseRow(lockKey, { fenceToken: state.fenceToken }, id);
      await table.write({ kind: 'replace', row: free, etag: state.etag });
      return true;
    });
  }

  #grant(id: string, lastFenceToken: bigint): Grant {
    return {
      id,
      holder: this.#holder,
      fenceToken: lastFenceToken + 1n,
      durationMs: this.#durationMs,
    };
  }

  /**
   * The sends over this version of the row so far; those over an earlier one can no longer be
   * applied. Waits before it is sent to again. Throws the last error after the last send.
   */
  async #sendsOver(
    before: LeaseState | undefined,
    sends: Sends | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Sends> {
    if (sends !== undefined) signal?.throwIfAborted();
    if (sends?.etag !== before?.etag || sends === undefined) {
      return { etag: before?.etag, firstMs: this.#clock.monotonicMs(), errors: [] };
    }
    const { length } = sends.errors;
    if (length >= sendsMax) throw sends.errors.at(-1);
    await sleep(this.#timers, backOff(backOffs.request, length, this.#randomness), signal);
    signal?.throwIfAborted();
    return sends;
  }

  /** A failure when only another read of the row can show the outcome. */
  async #take(
    key: KeyOf<D>,
    grant: Grant,
    before: LeaseState | undefined,
  ): Promise<
    | { readonly kind: 'lease'; readonly lease: RowLease<D> }
    | { readonly kind: 'open'; readonly error: unknown }
  > {
    const lockKey = leaseKey(this.entities.codec.key(key));
    const row = leaseRow(lockKey, grant, newStamp(this.#randomness));
    const sentAtMs = this.#clock.monotonicMs();
    try {
      const { etag } = await this.entities.table.write(putOver(row, before?.etag));
      return { kind: 'lease', lease: this.#lease(key, grant, etag ?? '', sentAtMs) };
    } catch (error) {
      if (isConflictOrLost(error)) return { kind: 'open', error };
      throw error;
    }
  }

  #lease(key: KeyOf<D>, grant: Grant, etag: string, grantedAtMs = 0): RowLease<D> {
    return new RowLease({
      entities: this.entities,
      key,
      lockKey: leaseKey(this.entities.codec.key(key)),
      grant,
      etag,
      grantedAtMs,
      clock: this.#clock,
      timers: this.#timers,
      randomness: this.#randomness,
    });
  }

  /** Whether a term has certainly ended. */
  #isOver(
    { until }: LeaseState,
    { durationMs }: Grant,
    watched: WatchedVersion | undefined,
  ): boolean {
    if (watched !== undefined) {
      const watchedMs = this.#clock.monotonicMs() - watched.sinceMs;
      if (watchedMs >= durationMs * rateMargin) return true;
    }
    if (this.#skewMs === Infinity) return false;
    const surelyNow = ticksOfMicros(this.#clock.nowMicros() - Math.ceil(this.#skewMs * 1000));
    return surelyNow >= until.ticks;
  }

  #held(key: KeyOf<D>, state: LeaseState | undefined): LeaseHeldError {
    const { partitionKey, rowKey } = this.entities.codec.key(key);
    const holder = state?.grant?.holder ?? '';
    const until = state?.until ?? Instant.ofTicks(0n);
    const text = `('${partitionKey}', '${rowKey}') is leased by '${holder}' until ${until.toString()}`;
    return new LeaseHeldError(text, holder, until);
  }

  /** The caller needs the failure of the work. A lease that is not released ends by itself. */
  async #releaseQuietly(lease: RowLease<D>): Promise<void> {
    try {
      await lease.release();
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
    }
  }
}

/** The leases of a definition's entities in a table. Sends nothing. */
export function rowLeasesOf<D extends AnyDefinition>(
  definition: D,
  table: TableGateway,
  options: RowLeasesOptions,
): RowLeases<D> {
  return new RowLeases(definition, table, options);
}
