import type { Timer, Timers } from '../../base/async/timers.js';

/** How long the snapshot of a process that died keeps freed pages from reuse, at most. */
export const staleReadersMs = 1_000;

/** The engine's own search for readers that died. */
interface ReaderTable {
  readerCheck(): number;
}

export interface StaleReadersOptions {
  readonly timers: Timers;
  /** Called for the first of several failures in a row. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Frees the snapshots of processes that died during a read. No page that was freed after such a
 * snapshot is used again, so the data file grows with every write. The engine looks for them only
 * when it opens the file. A look takes microseconds.
 */
export class StaleReaders {
  readonly #root: ReaderTable;
  readonly #options: StaleReadersOptions;
  #timer: Timer | undefined;
  #hasFailed = false;

  constructor({ root }: { readonly root: ReaderTable }, options: StaleReadersOptions) {
    this.#root = root;
    this.#options = options;
    this.#schedule();
  }

  close(): void {
    this.#timer?.close();
    this.#timer = undefined;
  }

  #schedule(): void {
    this.#timer = this.#options.timers.start(staleReadersMs, this.#due, undefined);
  }

  readonly #due = (): void => {
    try {
      this.#root.readerCheck();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailed(error);
      this.#hasFailed = true;
    }
    this.#schedule();
  };
}
