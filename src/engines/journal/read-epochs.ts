interface Epoch {
  readers: number;
  whenOver: (() => void) | undefined;
}

/** Tells when all have ended that were reading at a moment. */
export class ReadEpochs {
  #current: Epoch = { readers: 0, whenOver: undefined };

  /** Until the result settles. */
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

  /** Resolves when every read that has begun is over. Called again only after it has resolved. */
  async over(): Promise<void> {
    const epoch = this.#current;
    this.#current = { readers: 0, whenOver: undefined };
    if (epoch.readers > 0) await new Promise<void>((resolve) => (epoch.whenOver = resolve));
  }
}
