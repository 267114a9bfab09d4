/** The extents of a session that wait for their commits, by number. */
export class WaitingExtents {
  readonly #numbers = new Set<number>();

  get count(): number {
    return this.#numbers.size;
  }

  has(number: number): boolean {
    return this.#numbers.has(number);
  }

  numbers(): Iterable<number> {
    return this.#numbers.values();
  }

  begin(number: number): void {
    this.#numbers.add(number);
  }

  /** Ignores a number that does not wait. */
  end(number: number): void {
    this.#numbers.delete(number);
  }
}
