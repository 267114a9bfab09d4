/**
 * Concurrent tasks of one kind that take much more memory than the bytes of their request: parsing
 * long headers, parsing and storing long bodies, and producing long answers.
 */
const atWorkMax = 8;

/** Limits concurrent tasks. Others wait in order of arrival, and hold only their bytes. */
export class ConcurrencyLimit {
  readonly #waiting: (() => void)[] = [];
  #atWork = 0;

  /** Takes a slot: resolves when it is free; undefined: at once. Each `enter` needs one `leave`. */
  enter(): Promise<void> | undefined {
    if (this.#atWork >= atWorkMax) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#atWork += 1;
    return undefined;
  }

  /** Releases a slot, or passes it on to the next in line. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#atWork -= 1;
    else next();
  }
}

/** The slot of one request: entering twice takes one slot, and leaving is idempotent. */
export class ConcurrencySlot {
  readonly #limit: ConcurrencyLimit;
  #isTaken = false;

  constructor(limit: ConcurrencyLimit) {
    this.#limit = limit;
  }

  /** As `ConcurrencyLimit.enter`; keeps a slot that is taken already. */
  enter(): Promise<void> | undefined {
    if (this.#isTaken) return undefined;
    const turn = this.#limit.enter();
    if (turn !== undefined) return this.#takeAfter(turn);
    this.#isTaken = true;
    return undefined;
  }

  leave(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#limit.leave();
  }

  async #takeAfter(turn: Promise<void>): Promise<void> {
    await turn;
    this.#isTaken = true;
  }
}
