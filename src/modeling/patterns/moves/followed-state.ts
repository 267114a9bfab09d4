import { sleep } from '../../../base/async/sleep.js';
import type { Timers } from '../../../base/async/timers.js';
import type { Clock } from '../../../base/clock.js';
import type { Row, RowKey, StoredRow } from '../../rows/row.js';
import { putOver } from '../../table/conditional-write.js';
import { isConflictOrLost, retryConflicts } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';

/** How long a state that was read is used, and how long operations of a former state may run. */
export interface FollowOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long a state that was read is used, in milliseconds. */
  readonly refreshMs: number;
  /**
   * Milliseconds after a change by which every operation that began in the former state has ended.
   */
  readonly settleMs: number;
}

/** The row of a state. */
export interface StateRow<T> {
  readonly table: TableGateway;
  readonly key: RowKey;
  /** The kind of state for messages, such as `map`. */
  readonly kind: string;
  readonly name: string;
  readonly rowOf: (state: T) => Row;
  /** Throws `DecodeError` for a row that is no such state. */
  readonly stateOf: (row: StoredRow) => T;
  /** The state before there is a row. May throw. */
  readonly initial: () => T;
}

/** A state, and the ETag of its row; no ETag when there is no row yet. */
export interface ReadState<T> {
  readonly state: T;
  readonly etag: string | undefined;
}

/**
 * A stored state that one program changes step by step and every program follows, such as the phase
 * of a move. Its version counts the changes. The state that other programs see is at most
 * `refreshMs` old.
 */
export class FollowedState<T extends { readonly version: number }> {
  readonly name: string;
  /** For messages, such as `the map 'orders'`. */
  readonly title: string;
  readonly #row: StateRow<T>;
  readonly #options: FollowOptions;
  #known: { readonly state: T; readonly atMs: number } | undefined;
  #reading: Promise<T> | undefined;
  /** When each version was first seen, on the monotonic clock. */
  readonly #seen = new Map<number, number>();

  constructor(row: StateRow<T>, options: FollowOptions) {
    this.name = row.name;
    this.title = `the ${row.kind} '${row.name}'`;
    this.#row = row;
    this.#options = options;
  }

  /**
   * The state, at most `refreshMs` old. Reads it when the known state is older; concurrent callers
   * share that read.
   */
  async known(): Promise<T> {
    const known = this.#known;
    const isYoung = known !== undefined && this.#nowMs() - known.atMs < this.#options.refreshMs;
    if (isYoung) return known.state;
    this.#reading ??= this.fresh().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** The stored state at the time of this call. One read. */
  async fresh(): Promise<T> {
    return (await this.read()).state;
  }

  /** One read. */
  async read(): Promise<ReadState<T>> {
    const atMs = this.#nowMs();
    const found = await this.find();
    return found ?? this.#noted(atMs, { state: this.#row.initial(), etag: undefined });
  }

  /** One read. Undefined when there is no row. */
  async find(): Promise<ReadState<T> | undefined> {
    const { table, key, stateOf } = this.#row;
    const atMs = this.#nowMs();
    const row = await table.get(key);
    return row && this.#noted(atMs, { state: stateOf(row), etag: row.etag });
  }

  /** One insert, or one update under the ETag that was read. */
  async write(state: T, before: string | undefined): Promise<ReadState<T>> {
    const { table, rowOf } = this.#row;
    const atMs = this.#nowMs();
    const { etag } = await table.write(putOver(rowOf(state), before));
    return this.#noted(atMs, { state, etag });
  }

  /**
   * Stores the state that `next` makes of the current one; writes nothing when `next` returns the
   * same object. One read and one write. Starts again, with another call of `next`, after a
   * conflict or a lost answer. Throws every other error of `next`.
   */
  change(what: string, next: (found: T) => T | Promise<T>): Promise<T> {
    const { timers } = this.#options;
    const attempt = async (): Promise<T> => {
      const { state, etag } = await this.read();
      const changed = await next(state);
      return changed === state ? state : (await this.write(changed, etag)).state;
    };
    return retryConflicts(`${what} of ${this.title}`, { timers }, attempt, isConflictOrLost);
  }

  /** Waits until `settleMs` have passed since this program first saw the version. */
  async settle({ version }: T): Promise<void> {
    const { timers, settleMs } = this.#options;
    const nowMs = this.#nowMs();
    const leftMs = (this.#seen.get(version) ?? nowMs) + settleMs - nowMs;
    if (leftMs > 0) await sleep(timers, leftMs);
  }

  /** Remembers the state that a request which began at this time has read or written. */
  #noted(atMs: number, found: ReadState<T>): ReadState<T> {
    const { state } = found;
    if (!this.#seen.has(state.version)) this.#seen.set(state.version, this.#nowMs());
    const known = this.#known;
    if (known === undefined || known.state.version <= state.version) this.#known = { state, atMs };
    return found;
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
