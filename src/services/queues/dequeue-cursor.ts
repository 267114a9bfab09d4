import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Candidate, Entry, KeyRange, Store } from '../../kv/store.js';
import type { MessageKeys } from './message-keys.js';
import { expiryOfState } from './message-state.js';

/** How long a search may begin where the one before it ended instead of at the oldest message. */
const resumeMsMax = 1_000;

/** How long a run of expired messages is passed over without being looked at again. */
const expiredRunMsMax = 60_000;
/** No process is so late to store a message that became visible this long ago. In microseconds. */
const settledMicros = 10_000_000;
/** Expired messages between two notes of how far their run goes. */
const expiredRunStride = 64;

export interface ClaimOptions {
  readonly nowMicros: number;
  readonly count: number;
  /** Messages to leave to others first. */
  readonly passOver: number;
}

/**
 * The visible end of one queue as this process sees it: which messages its own requests are about
 * to take. Requests that run side by side so take different messages instead of all competing for
 * the first; a message is still only taken by the commit that checks its version.
 */
export class DequeueCursor {
  readonly #store: Store;
  readonly #keys: MessageKeys;
  readonly #clock: Clock;
  readonly #claimed = new Set<string>();
  /** Everything visible before this key is claimed, taken or expired, as far as is known. */
  #resumeAt: Bytes | undefined;
  #resumeUntilMs = 0;
  /** Everything visible before this key has expired, which never changes. */
  #expiredBefore: Bytes | undefined;
  #expiredUntilMs = 0;

  constructor(store: Store, keys: MessageKeys, clock: Clock) {
    this.#store = store;
    this.#keys = keys;
    this.#clock = clock;
  }

  get isIdle(): boolean {
    return this.#claimed.size === 0;
  }

  /**
   * Up to `count` states of visible messages, oldest first, that no other claim has. Each must be
   * released. Fewer than there are when others are being taken.
   */
  async claim(options: ClaimOptions): Promise<readonly Entry[]> {
    const resumeAt = this.#resumePoint();
    if (resumeAt !== undefined) {
      const found = await this.#search(resumeAt, options);
      if (found.length === options.count) return found;
      // The end was reached: what lies before the resume point may have become free.
      this.release(found);
    }
    this.#resumeUntilMs = this.#clock.monotonicMs() + resumeMsMax;
    return this.#search(undefined, options);
  }

  /** After the messages were taken. */
  settle(entries: readonly Entry[]): void {
    for (const { key } of entries) this.#claimed.delete(nameOfBytes(key));
  }

  /** After the messages were not taken: they are there for the next claim. */
  release(entries: readonly Entry[]): void {
    this.settle(entries);
    this.#resumeAt = undefined;
  }

  /** Alone, a request looks at the oldest message first: nothing is claimed that it must pass. */
  #resumePoint(): Bytes | undefined {
    const isLate = this.#clock.monotonicMs() >= this.#resumeUntilMs;
    if (isLate || this.isIdle) this.#resumeAt = undefined;
    return this.#resumeAt;
  }

  /**
   * The states of visible messages, without most of those that have expired and are not yet
   * deleted: there may be very many, and every search would begin with them.
   */
  visible(nowMicros: number): KeyRange {
    const range = this.#keys.visibleAt(nowMicros);
    const isLate = this.#clock.monotonicMs() >= this.#expiredUntilMs;
    if (isLate) {
      this.#expiredBefore = undefined;
      this.#expiredUntilMs = this.#clock.monotonicMs() + expiredRunMsMax;
    }
    return this.#expiredBefore === undefined ? range : { ...range, start: this.#expiredBefore };
  }

  /** Notes that all up to `key`, the one at `place` of a search from the start, have expired. */
  #noteExpired(key: Bytes, place: number, nowMicros: number): void {
    if (place % expiredRunStride !== 0) return;
    if (this.#keys.read(key).micros > nowMicros - settledMicros) return;
    this.#expiredBefore = Buffer.from(key);
  }

  async #search(resumeAt: Bytes | undefined, options: ClaimOptions): Promise<readonly Entry[]> {
    const { nowMicros, count } = options;
    const names: string[] = [];
    let { passOver } = options;
    let expired = 0;
    let isLeading = resumeAt === undefined;
    const filter = ({ key, value }: Candidate) => {
      if (expiryOfState(value) <= nowMicros) {
        expired += 1;
        if (isLeading) this.#noteExpired(key, expired, nowMicros);
        return 'skip';
      }
      isLeading = false;
      const name = nameOfBytes(key);
      if (this.#claimed.has(name)) return 'skip';
      if (passOver > 0) {
        passOver -= 1;
        return 'skip';
      }
      if (names.length === count) return 'stop';
      // At once, not when the page has come: the next request may search before that.
      this.#claimed.add(name);
      names.push(name);
      if (names.length === count) this.#resumeAt = Buffer.from(key);
      return 'take';
    };
    const visible = this.visible(nowMicros);
    const range = resumeAt === undefined ? visible : { ...visible, start: resumeAt };
    try {
      const page = await this.#store.range(range, { limit: count, bytesMax: Infinity, filter });
      return page.entries;
    } catch (error) {
      for (const name of names) this.#claimed.delete(name);
      throw error;
    }
  }
}
