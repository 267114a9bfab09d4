import { requireCounts } from '../../definition/count.js';
import { systemClock, type Clock } from '../../../base/clock.js';

/** A token in a cache: `UserSas`, or a token that an application got from its token service. */
export interface CachedToken {
  readonly token: string;
  /** Microseconds since 1970. Undefined: kept for `maxAgeMs`. */
  readonly expiresAtMicros: number | undefined;
}

/** Bounds of a token cache. */
export interface SasCacheOptions {
  /** A token with less remaining life is not returned; 5 minutes when absent. */
  readonly leftMsMin?: number;
  /** How long a token without an expiry is kept; an hour when absent. */
  readonly maxAgeMs?: number;
  /** Users whose tokens are kept, the least recently used removed first; 10,000 when absent. */
  readonly entriesMax?: number;
  /** The system's clock when absent. */
  readonly clock?: Clock;
}

interface Entry {
  readonly token: CachedToken;
  readonly sinceMicros: number;
}

/**
 * Caches tokens by user until shortly before they expire. Of concurrent misses one creates the
 * token and the others wait for it. A failure rejects all of them and is not cached.
 */
export class SasCache {
  readonly #issue: (user: string) => CachedToken | Promise<CachedToken>;
  readonly #options: Required<SasCacheOptions>;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<string>>();

  /** `issue` creates a user's token, or fetches it from a token service. */
  constructor(
    issue: (user: string) => CachedToken | Promise<CachedToken>,
    {
      leftMsMin = 300_000,
      maxAgeMs = 3_600_000,
      entriesMax = 10_000,
      clock = systemClock,
    }: SasCacheOptions = {},
  ) {
    this.#issue = issue;
    requireCounts({ entriesMax });
    this.#options = { leftMsMin, maxAgeMs, entriesMax, clock };
  }

  /** A token with at least `leftMsMin` of life left, unless `issue` creates shorter ones. */
  async get(user: string): Promise<string> {
    const entry = this.#entries.get(user);
    if (entry !== undefined && this.#isFresh(entry)) {
      this.#entries.delete(user);
      this.#entries.set(user, entry);
      return entry.token.token;
    }
    const pending = this.#pending.get(user);
    if (pending !== undefined) return pending;
    const renewal = this.#renew(user);
    this.#pending.set(user, renewal);
    try {
      return await renewal;
    } finally {
      this.#pending.delete(user);
    }
  }

  /** Removes a user's token, for example after a 403; the next call creates another one. */
  forget(user: string): void {
    this.#entries.delete(user);
  }

  async #renew(user: string): Promise<string> {
    const token = await this.#issue(user);
    this.#entries.delete(user);
    this.#entries.set(user, { token, sinceMicros: this.#options.clock.nowMicros() });
    this.#trim();
    return token.token;
  }

  #isFresh({ token: { expiresAtMicros }, sinceMicros }: Entry): boolean {
    const { clock, leftMsMin, maxAgeMs } = this.#options;
    const now = clock.nowMicros();
    return expiresAtMicros === undefined
      ? now - sinceMicros < maxAgeMs * 1000
      : expiresAtMicros - now >= leftMsMin * 1000;
  }

  #trim(): void {
    for (const user of this.#entries.keys()) {
      if (this.#entries.size <= this.#options.entriesMax) return;
      this.#entries.delete(user);
    }
  }
}

/** A cache of tokens that `issue` makes. Sends nothing. */
export function sasCacheOf(
  issue: (user: string) => CachedToken | Promise<CachedToken>,
  options?: SasCacheOptions,
): SasCache {
  return new SasCache(issue, options);
}
