import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Candidate } from '../../kv/store.js';
import type { MessageKeys } from './message-keys.js';
import { expiryOfState } from './message-state.js';

/** How long a run of expired messages is passed over before it is checked again. */
const runMsMax = 60_000;
/** The longest delay, in microseconds, between the visible time of a message and its commit. */
const settledMicros = 10_000_000;
/** Expired messages between two updates of the end of the run. */
const stride = 64;

/** A search of a queue from its oldest message on. */
export interface RunSearch {
  /** Where it may begin; absent: at the oldest message. */
  readonly start: Bytes | undefined;
  /** Whether a message has expired. Called for the messages that the search passes, in order. */
  hasExpired(candidate: Candidate): boolean;
  /** To be called when the search is over, also when it has failed. */
  end(): void;
}

/**
 * The expired messages at the start of a queue that are not yet deleted, as far as searches know:
 * there may be very many. They are checked again each minute, because a message may be committed
 * late, by another process. One search does that, and the others begin behind the run meanwhile.
 */
export class ExpiredRun {
  readonly #keys: MessageKeys;
  readonly #clock: Clock;
  /** All visible messages before this key have expired, permanently. */
  #before: Bytes | undefined;
  #untilMs = 0;
  #isBeingChecked = false;
  /**
   * Changes when a check begins or ends. The findings of a search that began before are out of
   * date.
   */
  #period = 0;

  constructor(keys: MessageKeys, clock: Clock) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Where a search may begin that does not update the run. */
  get known(): Bytes | undefined {
    return this.#isDue() ? undefined : this.#before;
  }

  search(nowMicros: number): RunSearch {
    return this.#isDue() ? this.#check(nowMicros) : this.#extend(nowMicros);
  }

  #isDue(): boolean {
    return !this.#isBeingChecked && this.#clock.monotonicMs() >= this.#untilMs;
  }

  #check(nowMicros: number): RunSearch {
    this.#untilMs = this.#clock.monotonicMs() + runMsMax;
    this.#isBeingChecked = true;
    this.#period += 1;
    let found: Bytes | undefined;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#isBeingChecked = false;
      this.#period += 1;
      this.#before = found;
    };
    const leading = this.#leading(nowMicros, (key) => {
      found = key;
    });
    const hasExpired = (candidate: Candidate): boolean => {
      const expired = leading(candidate);
      if (!expired) end();
      return expired;
    };
    return { start: undefined, hasExpired, end };
  }

  #extend(nowMicros: number): RunSearch {
    const period = this.#period;
    const hasExpired = this.#leading(nowMicros, (key) => {
      if (period === this.#period) this.#before = key;
    });
    return { start: this.#before, hasExpired, end: () => undefined };
  }

  /**
   * Filters expired messages. Reports every `stride`th message of the run at the beginning of the
   * search, so that the caller knows how far it reaches.
   */
  #leading(nowMicros: number, onReached: (key: Bytes) => void): (candidate: Candidate) => boolean {
    let isLeading = true;
    let passed = 0;
    return ({ key, value }) => {
      const hasExpired = expiryOfState(value) <= nowMicros;
      isLeading &&= hasExpired;
      passed += 1;
      const isSettled = () => this.#keys.read(key).micros <= nowMicros - settledMicros;
      if (isLeading && passed % stride === 0 && isSettled()) onReached(Buffer.from(key));
      return hasExpired;
    };
  }
}
