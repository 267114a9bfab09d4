/**
 * A read-write lock within a process. Readers pay nothing while no writer is active, and wait while
 * one is. Writers take turns.
 *
 * A reader must check `isWriting` and call `enter` in the same turn of the event loop.
 */
export class ReadWriteLock {
  #inside = 0;
  /** The queued writers; the promise is that of the last one. */
  #alone: Promise<void> | undefined;
  #emptied: (() => void) | undefined;

  get isWriting(): boolean {
    return this.#alone !== undefined;
  }

  /** Resolves when no writer is active. */
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

  /** Runs work as a reader. */
  async read<T>(work: () => Promise<T>): Promise<T> {
    await this.released();
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Waits until all current readers have left, then runs work exclusively. New readers wait. */
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
