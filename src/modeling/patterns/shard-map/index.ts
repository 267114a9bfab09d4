// Partitions over several tables, by a stored map. See docs/guides/patterns/shard-map.md.

export {
  hashRouting,
  listRouting,
  rangeRouting,
  shardOfText,
  type HashRouting,
  type ListRouting,
  type RangeRouting,
  type ShardRange,
  type ShardRouting,
  type TextRange,
} from '../../../placement/shard-routing.js';
export type { RoutingKind } from '../../../placement/rebuilt-routing.js';
export {
  addShard,
  assignTexts,
  mergeShards,
  moveShard,
  removeShard,
  splitRange,
  type RoutingChange,
} from './routing-changes.js';
export type { ChangeOutcome, ClosedAccess, MapPhase, MapState } from './map-state.js';
export type { ShardReport } from './partition-walk.js';
export type { LocalRebuild, LocalRebuildOptions, MapRecovery } from './map-recovery.js';
export type { KeptSide, RecoveryPlan, ShardDifference } from './recovery.js';
export type { ShardQueryOrder } from './shard-top.js';
export type { PlannedMove, ShardPlan } from './shard-plan.js';
export { type ShardMap, shardMapOf } from './shard-map.js';
export {
  staticShardMapOf,
  type StaticShardMap,
  type StaticShardMapOptions,
} from './static-shard-map.js';
export type { KeptPartition, ShardMapOptions, ShardStepOptions } from './shard-map-options.js';
export { DeadlinePassedError } from './query-deadline.js';
export {
  MapCopyError,
  type MisplacedPartition,
  MisplacedRowsError,
  PartitionClosedError,
  ShardQueryError,
  ShardTakenError,
  StaleMapError,
  UnknownShardError,
} from './shard-errors.js';
export {
  type ShardFailure,
  type ShardQuery,
  shardQueryOf,
  type ShardQueryOptions,
  type ShardRow,
} from './shard-query.js';
export type { ShardViews } from './shard-view.js';
export { routedBy, type ShardedEntities, shardedEntitiesOf } from './sharded-entities.js';
