/**
 * How many requests are at work at a time that take many times their bytes: those with a long
 * header while its filter or other options are read, those with a long body while it is read and
 * stored, and long answers while they are put together.
 */
const atWorkMax = 8;

/** Lets so many large requests work at a time. Others wait in order, and hold only their bytes. */
export class LargeWork {
  readonly #waiting: (() => void)[] = [];
  #atWork = 0;

  /** Resolves when there is a place; undefined: there is. Who has entered leaves once. */
  enter(): Promise<void> | undefined {
    if (this.#atWork >= atWorkMax) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#atWork += 1;
    return undefined;
  }

  /** Whoever leaves hands its place over. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#atWork -= 1;
    else next();
  }
}

/** The place of one request among them: it has none or one. */
export class Place {
  readonly #work: LargeWork;
  #isTaken = false;

  constructor(work: LargeWork) {
    this.#work = work;
  }

  /** As that of `LargeWork`. Who has the place keeps it. */
  enter(): Promise<void> | undefined {
    if (this.#isTaken) return undefined;
    const turn = this.#work.enter();
    if (turn !== undefined) return this.#takeAfter(turn);
    this.#isTaken = true;
    return undefined;
  }

  leave(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#work.leave();
  }

  async #takeAfter(turn: Promise<void>): Promise<void> {
    await turn;
    this.#isTaken = true;
  }
}
