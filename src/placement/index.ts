// Finds the shard, partition or server that a key belongs to, by maps of your own or by the rules
// of known systems. Pure: no I/O, no clock. See docs/reference/placement.md.

export { bucketOf, hash32 } from './hashes/text-hash.js';
export {
  type KnownLimit,
  type KnownSystem,
  type LimitQuery,
  type LimitSource,
  limitText,
} from './limits/known-limit.js';
export { differingLimits, knownLimits, limitOf } from './limits/known-limits.js';
export {
  hashRouting,
  type HashRouting,
  listRouting,
  type ListRouting,
  rangeRouting,
  type RangeRouting,
  routingFault,
  type ShardRange,
  type ShardRouting,
  shardOfText,
  shardsOf,
  type TextRange,
  withRange,
  withShardAdded,
  withShardRemoved,
  withShardReplaced,
  withTexts,
} from './shard-routing.js';
export {
  type BlobAddress,
  blobNameAdvice,
  blobPartitionKey,
  hashedBlobName,
  isLargeBlock,
  type NameAdvice,
  secondsFirst,
} from './systems/blob.js';
export {
  cosmosKey,
  cosmosKeyFault,
  cosmosPrefixRange,
  type CosmosRange,
  cosmosRangeOf,
  type CosmosValue,
  type CosmosVersion,
} from './systems/cosmos-db.js';
export {
  eventHubsHash,
  eventHubsPartition,
  type EventHubsPlace,
  type EventHubsRule,
  type EventHubsTarget,
} from './systems/event-hubs.js';
export { queueOfKey, queuePartitionKey, queuesFor } from './systems/queue.js';
export {
  redisHashTag,
  type RedisKey,
  type RedisPlace,
  redisRing,
  type RedisRing,
  redisSameSlot,
  type RedisScheme,
  redisServer,
  redisSlot,
  redisSlotRanges,
  type SlotRange,
} from './systems/redis.js';
export type { Refusal, RefusalReason } from './systems/refusal.js';
export {
  type SearchCapacity,
  searchCapacity,
  type SearchLoad,
  type SearchOptions,
  searchPairs,
  searchPartitionCounts,
} from './systems/search.js';
export {
  type BusEntity,
  type BusMessage,
  busPin,
  type BusPin,
  busTransactionPin,
} from './systems/service-bus.js';
export {
  type FabricKey,
  fabricKeyOf,
  fabricPartition,
  type FabricPlace,
  type FabricRange,
  fabricRanges,
  type FabricScheme,
} from './systems/service-fabric.js';
export {
  type ShardLoad,
  type SqlShardKey,
  sqlServerGuidText,
  sqlShardsFor,
  type SqlShardText,
  sqlShardText,
} from './systems/sql.js';
export {
  groupFault,
  type GroupWrite,
  type TableLoad,
  tablePartitionKey,
  tableSpread,
} from './systems/table.js';
export {
  type KeyedRouting,
  shardKeyText,
  type ShardKeyType,
  shardKeyTypes,
  type ShardKeyValues,
  typedRouting,
} from './typed-routing.js';
export {
  type BackedUpShard,
  type BackupIntervals,
  type DueBackup,
  dueBackups,
} from './due-backups.js';
export {
  misplacedTexts,
  type MisplacedText,
  regionalRouting,
  type Regions,
} from './regional-routing.js';
