import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import { MessageKeys } from './message-keys.js';
import { DequeueCursor } from './dequeue-cursor.js';

/** The size of the cache; when it is full, queues without concurrent dequeues are removed. */
const openQueuesMax = 10_000;

/** Cached knowledge of a queue. The store is authoritative. */
export interface OpenQueue {
  readonly keys: MessageKeys;
  readonly cursor: DequeueCursor;
}

/** The queues in use by this process, by the prefix of their containers. */
export class OpenQueues {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #queues = new Map<string, OpenQueue>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns the same object for the same prefix while dequeues are in progress. */
  open(prefix: Bytes): OpenQueue {
    const name = nameOfBytes(prefix);
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    if (this.#queues.size >= openQueuesMax) this.#forgetIdle();
    const keys = new MessageKeys(prefix);
    const queue = { keys, cursor: new DequeueCursor(this.#store, keys, this.#clock) };
    this.#queues.set(name, queue);
    return queue;
  }

  #forgetIdle(): void {
    for (const [name, { cursor }] of this.#queues) if (cursor.isIdle) this.#queues.delete(name);
  }
}
