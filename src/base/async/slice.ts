import type { Clock } from '../clock.js';
import { atEndOfTurn, nextTurn } from './turns.js';

/** How long one piece of work may keep other requests of this process waiting, in milliseconds. */
const sliceMs = 5;

/** When the first work that may be long began in this turn of the event loop. */
let turnBeganMs: number | undefined;

/**
 * Before work that may be long. Resolves at once where little has been done in this turn of the
 * event loop, else in one of its own: so the beginnings of many pieces of work, each of which is
 * within a slice, do not come together.
 */
export async function roomInTurn(clock: Pick<Clock, 'monotonicMs'>): Promise<void> {
  const nowMs = clock.monotonicMs();
  if (turnBeganMs === undefined) {
    turnBeganMs = nowMs;
    atEndOfTurn(endTurn);
  } else if (nowMs - turnBeganMs >= sliceMs) await nextTurn();
}

function endTurn(): void {
  turnBeganMs = undefined;
}

/** What of the process' time one piece of work may take before others get their turn. */
export class Slice {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #started: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#started = clock.monotonicMs();
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#started >= sliceMs;
  }

  /** Lets others have their turn, if the slice is over; then the next one begins. */
  async endOnTime(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#started = this.#clock.monotonicMs();
  }
}

/** Work in pieces, each well within a slice: others may get their turn at each `yield`. */
export type Pieces<T> = Generator<void, T, void>;

/** Does all the work now. For little of it. */
export function inOnePiece<T>(work: Pieces<T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}

/** Does the work in slices. The first begins in a turn of its own. Rejects with what it throws. */
export async function inSlices<T>(work: Pieces<T>, clock: Pick<Clock, 'monotonicMs'>): Promise<T> {
  await nextTurn();
  const slice = new Slice(clock);
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
    if (slice.isOver) await slice.endOnTime();
  }
}
