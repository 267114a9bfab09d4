/** An exponentially weighted average of how often something happens. */
export class Rate {
  readonly #windowMs: number;
  #sum = 0;
  #weight = 0;

  /** `windowMs`: events of this age weigh about a third of new ones. */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Adds the count of the last `elapsedMs`. */
  add(count: number, elapsedMs: number): void {
    if (elapsedMs <= 0) return;
    const keep = Math.exp(-elapsedMs / this.#windowMs);
    this.#sum = this.#sum * keep + (count / elapsedMs) * 1_000 * (1 - keep);
    this.#weight = this.#weight * keep + (1 - keep);
  }

  /**
   * As long as little time was measured, the average is corrected for it, so that the first value
   * is right.
   */
  get perSecond(): number {
    return this.#weight === 0 ? 0 : this.#sum / this.#weight;
  }
}
