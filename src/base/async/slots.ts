import { invariant } from '../invariant.js';

interface Waiting {
  readonly max: number;
  readonly grant: (count: number) => void;
}

/**
 * A shared number of slots. Waiters are served in order of arrival; each gets as many free slots as
 * it wants and there are.
 */
export class Slots {
  readonly #total: number;
  #free: number;
  readonly #waiting: Waiting[] = [];
  #whenIdle: (() => void)[] = [];

  constructor(total: number) {
    this.#total = total;
    this.#free = total;
  }

  /** Resolves with at least one and at most `max` slots, or with none when it is aborted first. */
  take(max: number, signal: AbortSignal): Promise<number> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(0);
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve(0);
      };
      const grant = (count: number): void => {
        signal.removeEventListener('abort', leave);
        resolve(count);
      };
      const waiting = { max, grant };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', leave, { once: true });
      this.#serve();
    });
  }

  give(count: number): void {
    this.#free += count;
    invariant(this.#free <= this.#total, 'slots are given back once');
    this.#serve();
    if (this.#free < this.#total) return;
    const idle = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of idle) resolve();
  }

  /** Resolves when all slots are free. */
  idle(): Promise<void> {
    if (this.#free === this.#total) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  get busy(): number {
    return this.#total - this.#free;
  }

  #serve(): void {
    while (this.#free > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const count = Math.min(this.#free, next.max);
      this.#free -= count;
      next.grant(count);
    }
  }
}
