interface Epoch {
  readers: number;
  whenOver: (() => void) | undefined;
}

/** Waits for the reads that are under way at a moment. */
export class ReadEpochs {
  #current: Epoch = { readers: 0, whenOver: undefined };

  /** Counts a read until its result settles. */
  async during<Result>(read: () => Promise<Result>): Promise<Result> {
    const epoch = this.#current;
    epoch.readers += 1;
    try {
      return await read();
    } finally {
      epoch.readers -= 1;
      if (epoch.readers === 0) epoch.whenOver?.();
    }
  }

  /** Resolves when all reads that have begun by now have ended. One call at a time. */
  async over(): Promise<void> {
    const epoch = this.#current;
    this.#current = { readers: 0, whenOver: undefined };
    if (epoch.readers > 0) await new Promise<void>((resolve) => (epoch.whenOver = resolve));
  }
}
