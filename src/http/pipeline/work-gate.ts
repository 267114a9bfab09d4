/**
 * Stands before the storage work of requests. While it is open, passing costs nothing. While
 * somebody works alone behind it, requests wait in front of it.
 *
 * Whoever passes must look at `isShut` and call `enter` in one turn of the event loop.
 */
export class WorkGate {
  #inside = 0;
  /** What those who work alone have in hand, the last one behind all others. */
  #alone: Promise<void> | undefined;
  #emptied: (() => void) | undefined;

  get isShut(): boolean {
    return this.#alone !== undefined;
  }

  /** Resolves when the gate is open. */
  async opened(): Promise<void> {
    while (this.#alone !== undefined) await this.#alone;
  }

  enter(): void {
    this.#inside += 1;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#emptied?.();
  }

  /** Does work like that of a request, which is not of one. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    await this.opened();
    this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /**
   * Lets the work that has begun end, and then works alone; what comes meanwhile waits. Those who
   * ask for this at a time take turns.
   */
  async alone<T>(work: () => Promise<T>): Promise<T> {
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
