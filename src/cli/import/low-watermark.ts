import { sourceStart, type SourcePosition } from './source-row.js';

export type RowOutcome = 'written' | 'refused';

interface Pending {
  readonly end: SourcePosition;
  outcome: RowOutcome | undefined;
}

export interface WatermarkTicket {
  /** Records the final outcome of the row. Called once. */
  settle(outcome: RowOutcome): void;
}

/**
 * Tracks up to which row *all* rows are settled, although they settle in any order. Rows begin in
 * the order of the input. A stopped import resumes at `position`.
 */
export class LowWatermark {
  #position: SourcePosition;
  #queue: Pending[] = [];
  #head = 0;
  #refused: number;

  /** `refused`: the number of refused rows before `start`. */
  constructor(start: SourcePosition = sourceStart, refused = 0) {
    this.#position = start;
    this.#refused = refused;
  }

  /** Rows before `position` that were refused. */
  get refused(): number {
    return this.#refused;
  }

  /** All rows that end at or before this position are settled. */
  get position(): SourcePosition {
    return this.#position;
  }

  /** Rows after `position` that have begun, settled or not. */
  get pendingCount(): number {
    return this.#queue.length - this.#head;
  }

  begin(end: SourcePosition): WatermarkTicket {
    const pending: Pending = { end, outcome: undefined };
    this.#queue.push(pending);
    return {
      settle: (outcome) => {
        pending.outcome = outcome;
        this.#advance();
      },
    };
  }

  #advance(): void {
    for (;;) {
      const first = this.#queue[this.#head];
      if (first?.outcome === undefined) break;
      if (first.outcome === 'refused') this.#refused++;
      this.#position = first.end;
      this.#head++;
    }
    if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }
}
