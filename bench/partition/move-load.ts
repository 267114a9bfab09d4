import type { Store } from '../../src/kv/store.js';
import { quantile } from '../load.js';
import { keyOf } from './space.js';

export const valueBytes = 1_000;
const writesEachSecond = 1_000;
const readsEachSecond = 1_000;

/** In milliseconds. */
export interface Latencies {
  readonly writes: number[];
  readonly reads: number[];
}

/** Begins writes and reads at regular intervals, whether earlier calls have ended or not. */
export class MoveLoad {
  /** Calls of the range that moves and of the others, while it moves and while it does not. */
  readonly latencies = {
    moved: { moving: none(), quiet: none() },
    others: { moving: none(), quiet: none() },
  };
  isMoving = false;
  readonly #store: Store;
  readonly #shape: {
    readonly partitions: number;
    readonly movedFrom: number;
    readonly rows: number;
  };
  readonly #under = new Set<Promise<void>>();
  #count = 0;
  #isOver = false;

  constructor(
    store: Store,
    shape: { readonly partitions: number; readonly movedFrom: number; readonly rows: number },
  ) {
    this.#store = store;
    this.#shape = shape;
  }

  async run(): Promise<void> {
    const beganMs = performance.now();
    while (!this.#isOver) {
      const due = ((performance.now() - beganMs) * writesEachSecond) / 1_000;
      for (; this.#count < due; this.#count += 1) this.#calls(this.#count);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(this.#under);
  }

  stop(): void {
    this.#isOver = true;
  }

  #calls(count: number): void {
    const { partitions, movedFrom, rows } = this.#shape;
    const partition = count % partitions;
    const latencies = this.latencies[partition < movedFrom ? 'others' : 'moved'];
    const own = latencies[this.isMoving ? 'moving' : 'quiet'];
    const key = keyOf(partition, Math.floor(count / partitions) % (rows / partitions));
    const put = { key, value: Buffer.alloc(valueBytes, count) };
    this.#note(own.writes, () => this.#store.commit({ checks: [], puts: [put], deletes: [] }));
    if (count % (writesEachSecond / readsEachSecond) === 0) {
      this.#note(own.reads, () => this.#store.get(key));
    }
  }

  #note(latencies: number[], call: () => Promise<unknown>): void {
    const beganMs = performance.now();
    const noted = call().then(() => void latencies.push(performance.now() - beganMs));
    this.#under.add(noted);
    void noted.finally(() => this.#under.delete(noted));
  }
}

export function shown(latencies: readonly number[]): string {
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share: number) => quantile(sorted, share).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms`;
}

export function p99(latencies: readonly number[]): number {
  return quantile(Float64Array.from(latencies).toSorted(), 0.99);
}

function none(): Latencies {
  return { writes: [], reads: [] };
}
