import { Gate } from '../../base/async/gate.js';

/**
 * Concurrent tasks of one kind that take much more memory than the bytes of their request: parsing
 * long headers, parsing and storing long bodies, and producing long answers.
 */
const atWorkMax = 8;

/** A gate for tasks of one such kind. Those that wait hold only their bytes. */
export function heavyTaskGate(): Gate {
  return new Gate(atWorkMax);
}

/** The slot of one request: entering twice takes one slot, and leaving is idempotent. */
export class ConcurrencySlot {
  readonly #gate: Gate;
  #isTaken = false;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** As `Gate.enter`; keeps a slot that is taken already. */
  enter(): Promise<void> | undefined {
    if (this.#isTaken) return undefined;
    const turn = this.#gate.enter();
    if (turn !== undefined) return this.#takeAfter(turn);
    this.#isTaken = true;
    return undefined;
  }

  leave(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#gate.leave();
  }

  async #takeAfter(turn: Promise<void>): Promise<void> {
    await turn;
    this.#isTaken = true;
  }
}
