// Counts and totals that are kept instead of computed. See
// docs/guides/patterns/materialised-views.md.

export { eventViewOf, type EventView } from './applied-events.js';
export type { Measures, Numbers } from './measures.js';
export { partitionViewOf, type PartitionView } from './partition-view.js';
export {
  shardedCounterOf,
  type ShardedCounter,
  type CounterKey,
  type ShardedCounterOptions,
  type Sums,
} from './sharded-counter.js';
export type { ViewDrift } from './view-audit.js';
export type { PartitionViewOptions } from './view-options.js';
