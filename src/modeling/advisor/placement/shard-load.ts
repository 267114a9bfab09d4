import type { Clock } from '../../../base/clock.js';
import { systemClock } from '../../../base/clock.js';
import type { RequestObserver } from '../../table/observed-request.js';
import type { ShardFacts } from './design.js';

/** Counts of the requests to shards. */
export interface ShardLoad {
  /** The observer of the table of a shard, by its name: `openTable(client, { observer })`. */
  observerOf(shard: string): RequestObserver;
  /**
   * The shards in the order of their names, each with its requests in a second on average since
   * `restart`; without `restart` since `shardLoadOf`. A request that failed counts as well.
   */
  shards(): readonly ShardFacts[];
  /** Resets all counts to 0. */
  restart(): void;
}

/**
 * Counts requests by shard, for `reviewPlacement`. Shards without a request have 0. Sends nothing.
 */
export function shardLoadOf({ clock = systemClock }: { readonly clock?: Clock } = {}): ShardLoad {
  const requests = new Map<string, number>();
  let sinceMs = clock.monotonicMs();
  return Object.freeze({
    observerOf(shard: string): RequestObserver {
      if (!requests.has(shard)) requests.set(shard, 0);
      return () => void requests.set(shard, (requests.get(shard) ?? 0) + 1);
    },
    shards(): readonly ShardFacts[] {
      // A rate over less than a second would be a guess.
      const seconds = Math.max(1, (clock.monotonicMs() - sinceMs) / 1000);
      const facts = [...requests]
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([name, count]) => Object.freeze({ name, requestsPerSecond: count / seconds }));
      return Object.freeze(facts);
    },
    restart(): void {
      for (const shard of requests.keys()) requests.set(shard, 0);
      sinceMs = clock.monotonicMs();
    },
  });
}
