import { backOff, type BackOff } from '../../base/async/back-off.js';
import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';
import {
  KeysUnavailableError,
  type IssuerKeys,
  type KeySet,
} from '../../http/oauth/issuer-keys.js';
import type { Logger } from '../../http/exchange/logger.js';
import type { ReadKeys } from './key-files.js';
import { parseKeySet } from './key-set.js';

/** How often keys are read, in milliseconds. */
export interface KeyReading {
  /** Keys that are older are read again. */
  readonly maxAgeMs: number;
  /** They are not used before that; otherwise they are used while that happens. */
  readonly isAwaited: boolean;
  /** From a reading that failed to the next, after more failures in a row longer. */
  readonly retryMs: BackOff;
  /** From any reading to the next for the sake of a key that is not known. */
  readonly renewMs: number;
  /** How long keys stay in use that cannot be read again. */
  readonly staleMaxMs: number;
}

export interface KeyCacheParts {
  /** Names the place in logs. */
  readonly place: string;
  readonly read: ReadKeys;
  readonly reading: KeyReading;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly logger: Logger;
}

interface Held {
  readonly keySet: KeySet;
  readonly mark: string;
  readonly readAtMs: number;
}

/**
 * Keys that are read now and then. One reading is under way at a time, and only who cannot go on
 * with the keys that are held waits for it. A reading that fails is logged; meanwhile the keys of
 * the last one stay in use for a bounded time, and behind that there are none:
 * `KeysUnavailableError`.
 */
export class KeyCache implements IssuerKeys {
  readonly #closing = new AbortController();
  readonly #parts: KeyCacheParts;
  #held: Held | undefined;
  #reading: Promise<void> | undefined;
  #triedAtMs = -Infinity;
  #failure: Error | undefined;
  /** How many readings have failed in a row, and how long after the last one it is quiet. */
  #failures = 0;
  #retryMs = 0;

  constructor(parts: KeyCacheParts) {
    this.#parts = parts;
  }

  async current(): Promise<KeySet> {
    const { maxAgeMs, isAwaited } = this.#parts.reading;
    if (this.#held !== undefined && this.#age(this.#held) < maxAgeMs) return this.#held.keySet;
    const read = this.#readUnlessTried(0);
    if (isAwaited || !this.#isUsable) await read;
    return this.#usable();
  }

  async renewed(known: KeySet): Promise<KeySet> {
    if (this.#held?.keySet === known) await this.#readUnlessTried(this.#parts.reading.renewMs);
    return this.#usable();
  }

  /** For a start that must not go on without keys: throws what is wrong with them. */
  async mustRead(): Promise<void> {
    await this.#read();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ends a reading that is under way; there is none afterwards. Idempotent. */
  close(): void {
    this.#closing.abort();
  }

  get #isUsable(): boolean {
    const { staleMaxMs } = this.#parts.reading;
    return this.#held !== undefined && this.#age(this.#held) < staleMaxMs;
  }

  #usable(): KeySet {
    if (this.#held !== undefined && this.#isUsable) return this.#held.keySet;
    throw new KeysUnavailableError('the keys of the issuer cannot be read', {
      cause: this.#failure,
    });
  }

  #age({ readAtMs }: Held): number {
    return this.#parts.clock.monotonicMs() - readAtMs;
  }

  /** Reads again, or waits for who does, but for a time after the last attempt. */
  async #readUnlessTried(withinMs: number): Promise<void> {
    const quietMs = this.#failure === undefined ? withinMs : this.#retryMs;
    const isQuiet = this.#parts.clock.monotonicMs() - this.#triedAtMs < quietMs;
    if (this.#reading === undefined && (isQuiet || this.#closing.signal.aborted)) return;
    await this.#readAgain();
  }

  #readAgain(): Promise<void> {
    this.#reading ??= this.#readAndTell().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readAndTell(): Promise<void> {
    await this.#read();
    const { place, logger } = this.#parts;
    const error = this.#failure;
    if (error !== undefined && !this.#closing.signal.aborted)
      logger.error('the keys that verify tokens cannot be read', { place, error });
  }

  async #read(): Promise<void> {
    const { read, clock, reading, randomness } = this.#parts;
    this.#triedAtMs = clock.monotonicMs();
    try {
      const news = await read(this.#held?.mark, this.#closing.signal);
      this.#held = this.#heldAfter(news);
      this.#failure = undefined;
      this.#failures = 0;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#failures += 1;
      this.#retryMs = backOff(reading.retryMs, this.#failures, randomness);
    }
  }

  #heldAfter(news: Awaited<ReturnType<ReadKeys>>): Held | undefined {
    const readAtMs = this.#parts.clock.monotonicMs();
    if (news === undefined) return this.#held && { ...this.#held, readAtMs };
    return { keySet: parseKeySet(news.text), mark: news.mark, readAtMs };
  }
}
