import type { Clock } from '../../base/clock.js';
import {
  KeysUnavailableError,
  type IssuerKeys,
  type KeySet,
} from '../../http/oauth/issuer-keys.js';
import type { Logger } from '../../http/pipeline/logger.js';
import type { ReadKeys } from './key-files.js';
import { parseKeySet } from './key-set.js';

/** How often keys are read, in milliseconds. */
export interface KeyReading {
  /** Keys that are older are read again before they are used. */
  readonly maxAgeMs: number;
  /** From a reading that failed to the next. */
  readonly retryMs: number;
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
  readonly logger: Logger;
}

interface Held {
  readonly keySet: KeySet;
  readonly mark: string;
  readonly readAtMs: number;
}

/**
 * Keys that are read now and then. One reading is under way at a time, and whoever needs its result
 * waits for it. A reading that fails is logged; meanwhile the keys of the last one stay in use for
 * a bounded time, and behind that there are none: `KeysUnavailableError`.
 */
export class KeyCache implements IssuerKeys {
  readonly #parts: KeyCacheParts;
  #held: Held | undefined;
  #reading: Promise<void> | undefined;
  #triedAtMs = -Infinity;
  #failure: Error | undefined;

  constructor(parts: KeyCacheParts) {
    this.#parts = parts;
  }

  async current(): Promise<KeySet> {
    const { maxAgeMs } = this.#parts.reading;
    if (this.#held !== undefined && this.#age(this.#held) < maxAgeMs) return this.#held.keySet;
    await this.#readUnlessTried(0);
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

  #usable(): KeySet {
    if (this.#held !== undefined && this.#age(this.#held) < this.#parts.reading.staleMaxMs) {
      return this.#held.keySet;
    }
    throw new KeysUnavailableError('the keys of the issuer cannot be read', {
      cause: this.#failure,
    });
  }

  #age({ readAtMs }: Held): number {
    return this.#parts.clock.monotonicMs() - readAtMs;
  }

  /** Reads again, or waits for who does, but for a time after the last attempt. */
  async #readUnlessTried(withinMs: number): Promise<void> {
    const { clock, reading } = this.#parts;
    const quietMs = this.#failure === undefined ? withinMs : reading.retryMs;
    const isQuiet = clock.monotonicMs() - this.#triedAtMs < quietMs;
    if (!isQuiet || this.#reading !== undefined) await this.#readAgain();
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
    if (error !== undefined)
      logger.error('the keys that verify tokens cannot be read', { place, error });
  }

  async #read(): Promise<void> {
    const { read, clock } = this.#parts;
    this.#triedAtMs = clock.monotonicMs();
    try {
      const news = await read(this.#held?.mark);
      this.#held = this.#heldAfter(news);
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  #heldAfter(news: Awaited<ReturnType<ReadKeys>>): Held | undefined {
    const readAtMs = this.#parts.clock.monotonicMs();
    if (news === undefined) return this.#held && { ...this.#held, readAtMs };
    return { keySet: parseKeySet(news.text), mark: news.mark, readAtMs };
  }
}
