import type { Clock } from '../clock.js';
import { atEndOfTurn, nextTurn } from './turns.js';

/** The longest time that one piece of work may block the event loop, in milliseconds. */
const sliceMs = 5;

/** When the first long piece of work began in this turn of the event loop. */
let turnBeganMs: number | undefined;
/** Work that has not begun, in the order in which it came. */
const queued: (() => void)[] = [];

/**
 * Called before work that may take long. Resolves at once when this turn of the event loop has done
 * little and no work is queued here, otherwise in a later turn, so that many short pieces of work
 * do not add up to one long turn. Queued work begins in order of arrival, as much in a turn as fits
 * into a slice.
 */
export async function yieldIfBusy(clock: Pick<Clock, 'monotonicMs'>): Promise<void> {
  if (queued.length === 0) {
    const nowMs = clock.monotonicMs();
    if (turnBeganMs === undefined) {
      turnBeganMs = nowMs;
      atEndOfTurn(endTurn);
      return;
    }
    if (nowMs - turnBeganMs < sliceMs) return;
  }
  await new Promise<void>((resolve) => {
    queued.push(resolve);
    if (queued.length === 1) void beginQueued(clock);
  });
}

function endTurn(): void {
  turnBeganMs = undefined;
}

/** The number of pieces of work that may begin in one turn, however short they are. */
const begunInTurnMax = 64;

/** Begins the queued work, a slice of it in each turn. */
async function beginQueued(clock: Pick<Clock, 'monotonicMs'>): Promise<void> {
  while (queued.length > 0) {
    await nextTurn();
    const slice = new Slice(clock);
    for (let begun = 0; begun < begunInTurnMax; begun += 1) {
      queued[0]?.();
      await allMicrotasks();
      // Work leaves the queue when it has ended, so that work that arrives meanwhile waits as well.
      queued.shift();
      if (queued.length === 0 || slice.isOver) break;
    }
  }
}

/** Resolves when all microtasks have run, so that only events can cause further work. */
function allMicrotasks(): Promise<void> {
  return new Promise((resolve) => {
    queueMicrotask(() => process.nextTick(resolve));
  });
}

/** A time slice: bounds how long one piece of work runs before it yields to others. */
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

  /** Yields to others when the slice has ended, and then starts the next one. */
  async endOnTime(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#started = this.#clock.monotonicMs();
  }
}

/**
 * Work as a generator that may be suspended at each `yield`. Each piece is much shorter than a
 * slice.
 */
export type Pieces<T> = Generator<void, T, void>;

/** Runs all the work at once. For small amounts. */
export function inOnePiece<T>(work: Pieces<T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}

/**
 * Runs the work in slices, the first in a new turn of the event loop. Rejects with what the work
 * throws.
 */
export async function inSlices<T>(work: Pieces<T>, clock: Pick<Clock, 'monotonicMs'>): Promise<T> {
  await nextTurn();
  const slice = new Slice(clock);
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
    if (slice.isOver) await slice.endOnTime();
  }
}
