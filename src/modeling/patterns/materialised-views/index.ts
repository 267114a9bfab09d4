// Counts and totals that are kept instead of computed. See
// docs/guides/patterns/materialised-views.md.

export { EventView } from './applied-events.js';
export type { MeasureNames, Measures, Numbers } from './measures.js';
export { PartitionView } from './partition-view.js';
export {
  ShardedCounter,
  type CounterKey,
  type ShardedCounterOptions,
  type Sums,
} from './sharded-counter.js';
export type { ViewDrift } from './view-audit.js';
export type { PartitionViewOptions } from './view-options.js';
