import { nameOfBytes } from '../../base/bytes.js';
import type { Store } from '../../kv/store.js';
import type { MessageKeys } from './message-keys.js';

/** Queues that are remembered; beyond it all are forgotten and looked at once more. */
const queuesMax = 100_000;

interface Known {
  /** Of the queue's count, which every message that is put or deleted changes. */
  readonly version: number | undefined;
  /** When the next message expires; Infinity when there is none. */
  readonly nextMicros: number;
}

/**
 * When the next message of each queue expires, as far as it was looked at. The expiry of a message
 * never changes, so while a queue's count stands nothing expires earlier, whoever else is at work.
 * To know that of many queues takes one read of their counts.
 */
export class ExpirySchedule {
  readonly #store: Store;
  readonly #known = new Map<string, Known>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Those of the queues in which a message may have expired by now. */
  async due(queues: readonly MessageKeys[], nowMicros: number): Promise<readonly MessageKeys[]> {
    const counts = await this.#store.getMany(queues.map(({ count }) => count));
    return queues.filter(({ count }, index) => {
      const known = this.#known.get(nameOfBytes(count));
      const version = counts[index]?.version;
      if (known === undefined || known.version !== version) return true;
      return known.nextMicros <= nowMicros;
    });
  }

  /** Looks at a queue and remembers when its next message expires. */
  async look(queue: MessageKeys): Promise<void> {
    if (this.#known.size >= queuesMax) this.#known.clear();
    // The count first: what is put after it makes another version.
    const count = await this.#store.get(queue.count);
    const { entries } = await this.#store.range(queue.expiries(), { limit: 1, bytesMax: 0 });
    const [first] = entries;
    const nextMicros = first === undefined ? Infinity : queue.read(first.key).micros;
    this.#known.set(nameOfBytes(queue.count), { version: count?.version, nextMicros });
  }
}
