/**
 * A lock of many readers and one writer, within a process. Readers pass at no cost while nobody
 * writes, and wait while somebody does. Writers take turns.
 *
 * A reader must look at `isWriting` and call `enter` in one turn of the event loop.
 */
export class ReadWriteLock {
  #inside = 0;
  /** What those who work alone have in hand, the last one behind all others. */
  #alone: Promise<void> | undefined;
  #emptied: (() => void) | undefined;

  get isWriting(): boolean {
    return this.#alone !== undefined;
  }

  /** Resolves when nobody writes. */
  async released(): Promise<void> {
    while (this.#alone !== undefined) await this.#alone;
  }

  enter(): void {
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#emptied?.();
  }

  /** Does work as a reader. */
  async read<T>(work: () => Promise<T>): Promise<T> {
    await this.released();
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /**
   * Waits until the readers that are inside have left, and then works alone; who comes meanwhile
   * waits.
   */
  async write<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#alone ?? Promise.resolve();
    const done = turn.then(async () => {
      await this.#empty();
      return work();
    });
    const settled = done.then(ignored, ignored);
    this.#alone = settled;
    try {
      return await done;
    } finally {
      if (this.#alone === settled) this.#alone = undefined;
    }
  }

  async #empty(): Promise<void> {
    if (this.#inside === 0) return;
    await new Promise<void>((resolve) => (this.#emptied = resolve));
    this.#emptied = undefined;
  }
}

function ignored(): void {}
