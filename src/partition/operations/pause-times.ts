import type { OperationTools } from './tools.js';

/** Measures how long writes and reads of a range wait for its move, in the moving process. */
export class PauseTimes {
  readonly #tools: Pick<OperationTools, 'clock' | 'counters'>;
  /** When they were paused, if they are, in monotonic milliseconds. */
  #writesPausedMs: number | undefined;
  #readsPausedMs: number | undefined;

  constructor(tools: Pick<OperationTools, 'clock' | 'counters'>) {
    this.#tools = tools;
  }

  /** To be called before writes are paused. */
  pauseWrites(): void {
    this.#writesPausedMs = this.#tools.clock.monotonicMs();
  }

  /** To be called before reads are paused. */
  pauseReads(): void {
    this.#readsPausedMs = this.#tools.clock.monotonicMs();
  }

  /** To be called when a store serves reads and writes again. */
  end(): void {
    const { clock, counters } = this.#tools;
    const nowMs = clock.monotonicMs();
    if (this.#writesPausedMs !== undefined)
      counters?.notePause('write', nowMs - this.#writesPausedMs);
    if (this.#readsPausedMs !== undefined) counters?.notePause('read', nowMs - this.#readsPausedMs);
    this.#writesPausedMs = undefined;
    this.#readsPausedMs = undefined;
  }
}
