import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import type { Reclaimed } from '../containers/reclaim.js';
import { deleteExpired } from './expiry.js';
import { MessageKeys } from './message-keys.js';

/** Queues that one step looks at, so that no step keeps requests waiting long. */
const visitsMax = 500;

/**
 * Goes round all queues and deletes what has expired, a bounded number of messages and queues a
 * step. A step begins where the one before it ended, so a queue with much to delete does not keep
 * the others from their turn.
 */
export class ExpirySweep {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #prefixes: () => AsyncGenerator<Bytes>;
  #round: AsyncGenerator<Bytes> | undefined;
  /** Whether a queue of this round had more to delete than its step allowed. */
  #left = false;

  /** `prefixes` walks over the containers of all queues. */
  constructor(store: Store, clock: Clock, prefixes: () => AsyncGenerator<Bytes>) {
    this.#store = store;
    this.#clock = clock;
    this.#prefixes = prefixes;
  }

  /** `more`: another step would find something to do, or this round is not over. */
  async step(messagesMax: number): Promise<Reclaimed> {
    let deleted = 0;
    // Another step may run beside this one: it can end the round, and one of its own can begin.
    const round = (this.#round ??= this.#prefixes());
    for (let visits = 0; visits < visitsMax && deleted < messagesMax; visits += 1) {
      const next = await round.next();
      if (next.done === true) return { deleted, more: this.#endRound(round) };
      const keys = new MessageKeys(next.value);
      const nowMicros = this.#clock.nowMicros();
      const expired = await deleteExpired(this.#store, keys, nowMicros, messagesMax - deleted);
      deleted += expired.deleted;
      this.#left ||= expired.more;
    }
    return { deleted, more: true };
  }

  #endRound(round: AsyncGenerator<Bytes>): boolean {
    if (this.#round !== round) return true;
    const left = this.#left;
    this.#round = undefined;
    this.#left = false;
    return left;
  }
}
