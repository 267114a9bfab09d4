import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { filteredPage, type FilteredOptions } from '../../kv/filtered-entries.js';
import type { Candidate, Entry, KeyRange, Store } from '../../kv/store.js';
import { ExpiredRun } from './expired-run.js';
import type { MessageKeys } from './message-keys.js';
import { expiryOfState } from './message-state.js';

/** How long searches may resume where the last one ended instead of at the oldest message. */
const resumeMsMax = 1_000;

export interface ClaimOptions {
  readonly nowMicros: number;
  readonly count: number;
  /** The number of messages to leave to competitors. */
  readonly passOver: number;
}

/**
 * The dequeue position of this process in one queue: claims keep its own concurrent requests from
 * competing for the same messages. A claim is only a hint; a message is taken by the commit that
 * checks its version.
 */
export class DequeueCursor {
  readonly #store: Store;
  readonly #keys: MessageKeys;
  readonly #clock: Clock;
  readonly #claimed = new Set<string>();
  /** All visible messages before this key are claimed, taken or expired, as far as is known. */
  #resumeAt: Bytes | undefined;
  #resumeUntilMs = 0;
  readonly #expired: ExpiredRun;

  constructor(store: Store, keys: MessageKeys, clock: Clock) {
    this.#store = store;
    this.#keys = keys;
    this.#clock = clock;
    this.#expired = new ExpiredRun(keys, clock);
  }

  get isIdle(): boolean {
    return this.#claimed.size === 0;
  }

  /**
   * Claims up to `count` states of visible messages, oldest first, that no other claim holds. The
   * caller must release each. Returns fewer while others are being taken. A message that another
   * process moves meanwhile may occur twice.
   */
  async claim(options: ClaimOptions): Promise<readonly Entry[]> {
    const resumeAt = this.#resumePoint();
    if (resumeAt !== undefined) {
      const found = await this.#search(resumeAt, options);
      if (found.length === options.count) return found;
      // The end was reached; messages before the resume point may be free again.
      this.release(found);
    }
    this.#resumeUntilMs = this.#clock.monotonicMs() + resumeMsMax;
    return this.#search(undefined, options);
  }

  /** Called after the messages were taken. */
  settle(entries: readonly Entry[]): void {
    for (const { key } of entries) this.#claimed.delete(nameOfBytes(key));
  }

  /** Called when the messages were not taken: the next claim may have them. */
  release(entries: readonly Entry[]): void {
    this.settle(entries);
    this.#resumeAt = undefined;
  }

  /**
   * Without other claims, a request starts at the oldest message, because there is nothing to skip.
   */
  #resumePoint(): Bytes | undefined {
    const isLate = this.#clock.monotonicMs() >= this.#resumeUntilMs;
    if (isLate || this.isIdle) this.#resumeAt = undefined;
    return this.#resumeAt;
  }

  /** Up to `count` states of visible messages, oldest first, claimed or not. */
  async peek({ nowMicros, count }: Omit<ClaimOptions, 'passOver'>): Promise<readonly Entry[]> {
    // The run is not updated: a secondary, which only serves peeks, may be far behind.
    const range = this.#from(this.#expired.known, nowMicros);
    const found = await this.#read(range, count, ({ value }) =>
      expiryOfState(value) <= nowMicros ? 'skip' : 'take',
    );
    const idOf = ({ key }: Entry): string => nameOfBytes(this.#keys.read(key).id);
    const last = new Map(found.map((entry) => [idOf(entry), entry]));
    return found.filter((entry) => last.get(idOf(entry)) === entry);
  }

  /** The states of visible messages from a key on, or all. */
  #from(start: Bytes | undefined, nowMicros: number): KeyRange {
    const range = this.#keys.visibleAt(nowMicros);
    return start === undefined ? range : { ...range, start };
  }

  async #search(resumeAt: Bytes | undefined, options: ClaimOptions): Promise<readonly Entry[]> {
    const { nowMicros, count } = options;
    const names: string[] = [];
    let { passOver } = options;
    const fromStart = resumeAt === undefined ? this.#expired.search(nowMicros) : undefined;
    const range = this.#from(resumeAt ?? fromStart?.start, nowMicros);
    const filter = (candidate: Candidate) => {
      if (names.length === count) return 'stop';
      const hasExpired =
        fromStart?.hasExpired(candidate) ?? expiryOfState(candidate.value) <= nowMicros;
      if (hasExpired) return 'skip';
      const name = nameOfBytes(candidate.key);
      if (this.#claimed.has(name)) return 'skip';
      if (passOver > 0) {
        passOver -= 1;
        return 'skip';
      }
      // Claimed immediately and not at the end of the read, because another request may search
      // meanwhile.
      this.#claimed.add(name);
      names.push(name);
      if (names.length === count) this.#resumeAt = Buffer.from(candidate.key);
      return 'take';
    };
    try {
      return await this.#read(range, count, filter);
    } catch (error) {
      for (const name of names) this.#claimed.delete(name);
      throw error;
    } finally {
      fromStart?.end();
    }
  }

  /**
   * Yields after each part of a long run of messages that are passed over. When another request
   * moves a message meanwhile, its new state may come after the one that was read before.
   */
  async #read(
    range: KeyRange,
    count: number,
    filter: FilteredOptions['filter'],
  ): Promise<readonly Entry[]> {
    const limits = { limit: count, bytesMax: Infinity, filter };
    return (await filteredPage(this.#store, range, limits)).entries;
  }
}
