import { InFlight } from '../../base/async/in-flight.js';

/**
 * The extents that are stored while a session closes, by number, until each was confirmed or freed,
 * or could not be.
 */
export class LastExtents {
  readonly #numbers = new Set<number>();
  readonly #left = new InFlight();

  constructor(numbers: Iterable<number>) {
    for (const number of numbers) this.begin(number);
  }

  begin(number: number): void {
    if (this.#numbers.has(number)) return;
    this.#numbers.add(number);
    this.#left.begin();
  }

  /** Ignores a number that is not among them. */
  end(number: number): void {
    if (this.#numbers.delete(number)) this.#left.end();
  }

  /** Resolves when none is left. */
  none(): Promise<void> {
    return this.#left.none();
  }
}
