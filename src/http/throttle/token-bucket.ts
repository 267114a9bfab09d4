/** Sums of fractions of tokens are off by less than this. */
const tolerance = 1e-6;

/**
 * Tokens that come at a rate, as many as come in a second at most, but never less than one. Taking
 * may leave a debt, which has to be paid before anything else is let through.
 */
export class TokenBucket {
  readonly #perMs: number;
  readonly #capacity: number;
  #level: number;
  #atMs: number;
  /** Held for requests under way: they have not taken theirs yet. */
  #reserved = 0;

  constructor(perSecond: number, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#capacity = Math.max(1, perSecond);
    this.#level = this.#capacity;
    this.#atMs = nowMs;
  }

  /**
   * Milliseconds until so many tokens are free, if nobody takes any; 0 when they are. More than the
   * bucket can hold are free when it is full.
   */
  waitMs(tokens: number, nowMs: number): number {
    this.#refill(nowMs);
    const missing = Math.min(tokens, this.#capacity) - (this.#level - this.#reserved);
    return missing <= tolerance ? 0 : missing / this.#perMs;
  }

  reserve(tokens: number): void {
    this.#reserved += tokens;
  }

  /** Gives back what was reserved. */
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
