import type { Clock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import type { Randomness } from '../../src/base/randomness.js';
import { withPartitionRule } from '../../src/kv/partition-rule.js';
import type { Store } from '../../src/kv/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';

/**
 * Services that share a store but no knowledge, like processes. Their clocks differ by up to
 * `skewMicros`; the first service has the given clock.
 */
export function queueServices(
  count: number,
  parts: {
    readonly store: Store;
    readonly clock: Clock;
    readonly randomness: Randomness;
    readonly skewMicros?: number;
  },
): QueueService[] {
  const { clock, randomness, skewMicros = 0 } = parts;
  const store = withPartitionRule(parts.store);
  return Array.from({ length: count }, (_, index) => {
    const own = skewed(clock, index % 2 === 0 ? -skewMicros : skewMicros);
    return new QueueService({
      store,
      clock: forwardClock(index === 0 ? clock : own),
      randomness,
    });
  });
}

function skewed(clock: Clock, micros: number): Clock {
  return { ...clock, nowMicros: () => clock.nowMicros() + micros };
}
