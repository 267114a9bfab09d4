import { nameOfBytes, type Bytes } from '../../../base/bytes.js';
import type { Clock } from '../../../base/clock.js';

/** How long a key is remembered, at least; twice as long at most. */
export const recentMs = 100;
/** When more keys come within that time, they are remembered for less. */
const recentKeysMax = 4_096;

/** Keys whose pages were brought into the cache of the system a moment ago. */
export class RecentKeys {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #names = new Set<string>();
  /** Those of the turn before. */
  #before = new Set<string>();
  #turnEndMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  add(keys: readonly Bytes[]): void {
    this.#endTurn();
    for (const key of keys) {
      if (this.#names.size >= recentKeysMax) this.#beginTurn();
      this.#names.add(nameOfBytes(key));
    }
  }

  /** Those of the keys that are not remembered. */
  othersOf(keys: readonly Bytes[]): readonly Bytes[] {
    this.#endTurn();
    if (this.#names.size + this.#before.size === 0) return keys;
    return keys.filter((key) => {
      const name = nameOfBytes(key);
      return !this.#names.has(name) && !this.#before.has(name);
    });
  }

  #endTurn(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#turnEndMs) return;
    if (nowMs >= this.#turnEndMs + recentMs) this.#names.clear();
    this.#beginTurn();
    this.#turnEndMs = nowMs + recentMs;
  }

  #beginTurn(): void {
    this.#before = this.#names;
    this.#names = new Set();
  }
}
