import { nameOfBytes } from '../../base/bytes.js';
import type { Store } from '../../kv/store.js';
import type { MessageKeys } from './message-keys.js';

/** The size of the cache. When it is full it is cleared, and queues are checked again. */
const queuesMax = 100_000;

interface QueueExpiry {
  /** The version of the queue's count, which every put or delete of a message changes. */
  readonly version: number | undefined;
  /** When the next message expires; Infinity when there is none. */
  readonly nextMicros: number;
}

/**
 * A cache of the next expiry of each queue. The expiry of a message never changes, so while the
 * version of a queue's count is the same, nothing expires earlier. One read of the counts checks
 * many queues.
 */
export class ExpirySchedule {
  readonly #store: Store;
  readonly #known = new Map<string, QueueExpiry>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The queues in which a message may have expired. */
  async due(queues: readonly MessageKeys[], nowMicros: number): Promise<readonly MessageKeys[]> {
    const counts = await this.#store.getMany(queues.map(({ count }) => count));
    return queues.filter(({ count }, index) => {
      const known = this.#known.get(nameOfBytes(count));
      const version = counts[index]?.version;
      if (known === undefined || known.version !== version) return true;
      return known.nextMicros <= nowMicros;
    });
  }

  /** Reads the next expiry of a queue into the cache. */
  async look(queue: MessageKeys): Promise<void> {
    if (this.#known.size >= queuesMax) this.#known.clear();
    // Read first: a later put changes the version.
    const count = await this.#store.get(queue.count);
    const { entries } = await this.#store.range(queue.expiries(), { limit: 1, bytesMax: 0 });
    const [first] = entries;
    const nextMicros = first === undefined ? Infinity : queue.read(first.key).micros;
    this.#known.set(nameOfBytes(queue.count), { version: count?.version, nextMicros });
  }
}
