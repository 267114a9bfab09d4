/**
 * The keys of rows that the library writes beside entities. They begin with one of
 * `reservedInitials`, which no key template writes: it refuses a literal text and escapes a value
 * that begins so. Therefore no entity has such a PartitionKey or RowKey.
 *
 * A key alone proves nothing, because other programs write rows too: code that changes or deletes a
 * row of the library checks the type or the properties of the row as well.
 */
export const reservedInitials = '!~';

/** RowKeys, or how they begin. None begins with another one that ends in an underscore. */
export const reservedRowKeys = {
  appliedEvent: '~applied_',
  arrivedChild: '~arrived_',
  feedEvent: '~feed_',
  feedGroup: '~feed-group_',
  feedHead: '~feed-head',
  largePart: '~large_',
  lease: '~lease_',
  movingChild: '~moving_',
  referenceStamp: '~reference-stamp',
  poisonMessage: '~outbox-poison_',
  shardFence: '!shard:',
  splitChange: '~split_',
  waitingMessage: '~outbox_',
} as const;

/** PartitionKeys of rows that belong to no entity. */
export const reservedPartitionKeys = {
  archiveSchedule: '!archive-schedule',
  outboxRegistry: '!outbox-',
  reKeying: '!re-keying',
  shardBinding: '!shard-binding',
  shardManager: '!shard-manager',
  shardMap: '!shard-map',
  shardProgress: '!shard-progress',
  spreadKeys: '!spread-keys',
} as const;

/** Whether a key, or how it begins, is of the library. */
export function isReservedKey(key: string): boolean {
  return key !== '' && reservedInitials.includes(key.charAt(0));
}
