/** Rounding errors of sums are smaller than this. */
const tolerance = 1e-6;

/**
 * A token bucket whose capacity is one second's tokens, but at least one. Taking may leave a debt,
 * which must be repaid before the next admission.
 */
export class TokenBucket {
  readonly #perMs: number;
  readonly #capacity: number;
  #level: number;
  #atMs: number;
  /** Tokens reserved for requests in progress, which have not taken theirs yet. */
  #reserved = 0;

  constructor(perSecond: number, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#capacity = Math.max(1, perSecond);
    this.#level = this.#capacity;
    this.#atMs = nowMs;
  }

  /**
   * Milliseconds until `tokens` tokens are free if none are taken meanwhile; 0 when they are. A
   * request for more than the capacity waits for a full bucket.
   */
  waitMs(tokens: number, nowMs: number): number {
    this.#refill(nowMs);
    const missing = Math.min(tokens, this.#capacity) - (this.#level - this.#reserved);
    return missing <= tolerance ? 0 : missing / this.#perMs;
  }

  reserve(tokens: number): void {
    this.#reserved += tokens;
  }

  /** Releases a reservation. */
  release(tokens: number): void {
    this.#reserved -= tokens;
  }

  take(tokens: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#level -= tokens;
  }

  #refill(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#atMs);
    this.#level = Math.min(this.#capacity, this.#level + passedMs * this.#perMs);
    this.#atMs = nowMs;
  }
}
