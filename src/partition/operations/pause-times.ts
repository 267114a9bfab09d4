import type { MoveStep } from '../rows.js';
import type { OperationTools } from './tools.js';

/**
 * Measures how long calls wait for a move of their range: writes from `fence` on, reads from
 * `close` on.
 */
export class PauseTimes {
  readonly #tools: Pick<OperationTools, 'clock' | 'counters'>;
  /** When they were paused, if they are, in monotonic milliseconds. */
  #writesPausedMs: number | undefined;
  #readsPausedMs: number | undefined;

  constructor(tools: Pick<OperationTools, 'clock' | 'counters'>) {
    this.#tools = tools;
  }

  /** To be called when a step begins. */
  begin(step: MoveStep): void {
    const { clock, counters } = this.#tools;
    const nowMs = clock.monotonicMs();
    if (step === 'fence') this.#writesPausedMs = nowMs;
    if (step === 'close') this.#readsPausedMs = nowMs;
    if (step === 'close' || step === 'activate' || step === 'fence') return;
    if (this.#writesPausedMs !== undefined)
      counters?.notePause('write', nowMs - this.#writesPausedMs);
    if (this.#readsPausedMs !== undefined) counters?.notePause('read', nowMs - this.#readsPausedMs);
    this.#writesPausedMs = undefined;
    this.#readsPausedMs = undefined;
  }
}
