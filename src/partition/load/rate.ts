/** How often something happens, where what happened long ago counts less. */
export class Rate {
  readonly #windowMs: number;
  #sum = 0;
  #weight = 0;

  /** `windowMs`: what happened before that counts for about a third. */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** So often within the last `elapsedMs`. */
  add(count: number, elapsedMs: number): void {
    if (elapsedMs <= 0) return;
    const keep = Math.exp(-elapsedMs / this.#windowMs);
    this.#sum = this.#sum * keep + (count / elapsedMs) * 1_000 * (1 - keep);
    this.#weight = this.#weight * keep + (1 - keep);
  }

  /** A short past counts as if the rate had always been so, so that the first value is right. */
  get perSecond(): number {
    return this.#weight === 0 ? 0 : this.#sum / this.#weight;
  }
}
