import type { Timers } from '../../src/base/async/timers.js';
import type { Clock } from '../../src/base/clock.js';
import { manualClock } from '../../src/base/clock.js';
import type { CommitBatch } from '../../src/kv/store.js';
import type { SimRandom } from '../support/sim-random.js';

/** A process of the simulation. What it waits for when it dies, it waits for for ever. */
export interface SimProcess {
  readonly name: string;
  isAlive: boolean;
  /** How often its turn is passed over: whatever a slow process does is late. */
  slowness: number;
  /** Called with what it sends to a store in a fence. */
  onFence?: (batch: CommitBatch) => void;
}

interface Event {
  readonly owner: SimProcess;
  readonly resume: () => void;
}

interface SimTimer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/** So often an event may be passed over before it happens. */
const passesMax = 20;
const stepMicrosMax = 3_000;

/** Owns every wait of the program: decides which goes on, and what time it is. */
export class Scheduler {
  readonly random: SimRandom;
  readonly clock = manualClock();
  readonly #events: Event[] = [];
  readonly #timers = new Set<SimTimer>();
  steps = 0;

  constructor(random: SimRandom) {
    this.random = random;
  }

  /** Resolves when the scheduler picks this event. */
  turn(owner: SimProcess): Promise<void> {
    return new Promise((resume) => this.#events.push({ owner, resume }));
  }

  /** Time as a machine sees it whose clock goes wrong by `skewMicros`. */
  skewed(skewMicros: () => number): Clock {
    return {
      nowMicros: () => this.clock.nowMicros() + skewMicros(),
      monotonicMs: () => this.clock.monotonicMs(),
    };
  }

  readonly timers: Timers = {
    start: (delayMs, callback, argument) => {
      const timer: SimTimer = {
        dueMs: this.clock.monotonicMs() + delayMs,
        fire: () => callback(argument),
      };
      this.#timers.add(timer);
      return { close: () => this.#timers.delete(timer) };
    },
  };

  /** Lets one event happen, and all that follows from it until everything waits again. */
  async step(): Promise<boolean> {
    this.steps += 1;
    const event = this.#pick();
    if (event === undefined && this.#timers.size === 0) return false;
    this.clock.advanceMicros(this.random.int(stepMicrosMax));
    event?.resume();
    this.#fireTimers(event === undefined);
    await allMicrotasks();
    return true;
  }

  #pick(): Event | undefined {
    for (let tries = 0; this.#events.length > 0; tries += 1) {
      const index = this.random.int(this.#events.length);
      const { owner } = this.#events[index] ?? { owner: undefined };
      if (tries < passesMax && this.random.chance(owner?.slowness ?? 0)) continue;
      return this.#events.splice(index, 1)[0];
    }
    return undefined;
  }

  /** Fires what is due; the first one in any case when nothing else can happen. */
  #fireTimers(isIdle: boolean): void {
    const byTime = [...this.#timers].toSorted((left, right) => left.dueMs - right.dueMs);
    const [first] = byTime;
    if (isIdle && first !== undefined) {
      const waitMs = first.dueMs - this.clock.monotonicMs();
      this.clock.advanceMicros(Math.max(0, Math.ceil(waitMs * 1000)));
    }
    for (const timer of byTime) {
      if (timer.dueMs > this.clock.monotonicMs()) break;
      this.#timers.delete(timer);
      timer.fire();
    }
  }
}

/** Resolves when all that can go on without a further event has done so. */
export function allMicrotasks(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
