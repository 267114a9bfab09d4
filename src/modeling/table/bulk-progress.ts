import type { BulkReport, BulkResult } from './bulk-result.js';

export interface ProgressOptions {
  readonly failuresMax: number;
  readonly onResult: ((result: BulkResult) => void) | undefined;
  readonly onPosition: ((position: number) => void) | undefined;
}

/** Counts settled writes, and the position up to which all are settled. */
export class BulkProgress {
  readonly #options: ProgressOptions;
  readonly #failures: BulkResult[] = [];
  readonly #counts = { applied: 0, unchanged: 0, failed: 0 };
  /** Indexes settled beyond the position. */
  readonly #ahead = new Set<number>();
  #position: number;
  #requests = 0;

  constructor(from: number, options: ProgressOptions) {
    this.#position = from;
    this.#options = options;
  }

  countRequest(): void {
    this.#requests += 1;
  }

  settle(results: readonly BulkResult[]): void {
    for (const result of results) {
      this.#counts[result.outcome] += 1;
      if (result.outcome === 'failed' && this.#failures.length < this.#options.failuresMax) {
        this.#failures.push(result);
      }
      this.#ahead.add(result.index);
      this.#options.onResult?.(result);
    }
    const before = this.#position;
    while (this.#ahead.delete(this.#position)) this.#position += 1;
    if (this.#position > before) this.#options.onPosition?.(this.#position);
  }

  report(): BulkReport {
    return {
      ...this.#counts,
      failures: [...this.#failures],
      requests: this.#requests,
      position: this.#position,
    };
  }
}
