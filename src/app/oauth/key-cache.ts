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

/** When keys are refreshed, in milliseconds. */
export interface KeyReading {
  /** Older keys are refreshed. */
  readonly maxAgeMs: number;
  /** True: outdated keys are not used until they are refreshed. False: they are used meanwhile. */
  readonly isAwaited: boolean;
  /** The delay after a failed refresh, which grows with each further failure. */
  readonly retryMs: BackOff;
  /** The minimum time between refreshes for unknown keys. */
  readonly renewMs: number;
  /** How long keys may be used when they cannot be refreshed. */
  readonly staleMaxMs: number;
}

export interface KeyCacheParts {
  /** Names the source in logs. */
  readonly place: string;
  readonly read: ReadKeys;
  readonly reading: KeyReading;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly logger: Logger;
}

interface HeldKeySet {
  readonly keySet: KeySet;
  readonly mark: string;
  readonly readAtMs: number;
}

/**
 * A cache of keys with periodic refresh. One refresh runs at a time, and callers wait for it only
 * when they cannot use the cached keys. A failed refresh is logged; the cached keys stay in use for
 * a bounded time, and then `KeysUnavailableError` is thrown.
 */
export class KeyCache implements IssuerKeys {
  readonly #closing = new AbortController();
  readonly #parts: KeyCacheParts;
  #held: HeldKeySet | undefined;
  #reading: Promise<void> | undefined;
  #triedAtMs = -Infinity;
  #failure: Error | undefined;
  /** The refreshes failed in a row, and the pause after the last one. */
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

  /** For a start that requires keys: throws the reason when they cannot be read. */
  async mustRead(): Promise<void> {
    await this.#read();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Aborts a running refresh and prevents further ones. Idempotent. */
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

  #age({ readAtMs }: HeldKeySet): number {
    return this.#parts.clock.monotonicMs() - readAtMs;
  }

  /** Refreshes, or joins a running refresh, unless the last attempt was within `withinMs`. */
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

  #heldAfter(news: Awaited<ReturnType<ReadKeys>>): HeldKeySet | undefined {
    const readAtMs = this.#parts.clock.monotonicMs();
    if (news === undefined) return this.#held && { ...this.#held, readAtMs };
    return { keySet: parseKeySet(news.text), mark: news.mark, readAtMs };
  }
}
