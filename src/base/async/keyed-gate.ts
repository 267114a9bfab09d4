import { Gate } from './gate.js';

interface Line {
  readonly gate: Gate;
  /** Tasks that run or wait. */
  count: number;
}

/**
 * Runs tasks of one key one after the other, in order of arrival, and those of different keys
 * beside each other. Keeps nothing of a key without tasks. A task must not run another one of its
 * own key: that one would wait for ever.
 */
export class KeyedGate {
  readonly #lines = new Map<string, Line>();

  /** How many keys have tasks. */
  get keys(): number {
    return this.#lines.size;
  }

  async run<R>(key: string, work: () => Promise<R>): Promise<R> {
    const line = this.#lines.get(key) ?? { gate: new Gate(1), count: 0 };
    this.#lines.set(key, line);
    line.count += 1;
    try {
      return await line.gate.run(work);
    } finally {
      line.count -= 1;
      if (line.count === 0) this.#lines.delete(key);
    }
  }
}
