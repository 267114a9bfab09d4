import {
  blobNameAdvice,
  bucketOf,
  busPin,
  cosmosKey,
  eventHubsPartition,
  fabricKeyOf,
  fabricPartition,
  hashedBlobName,
  queueOfKey,
  redisServer,
  redisSlot,
  redisSlotRanges,
  searchCapacity,
  sqlShardText,
  tablePartitionKey,
} from 'tabularium/placement';

// One key in every system: where 'Contoso' goes.

const key = 'Contoso';

for (const rule of ['javascript', 'python', 'iot-edge'] as const) {
  const place = eventHubsPartition({ partitionKey: key }, { partitions: 8, rule });
  if (place.kind === 'partition') console.log(`Event Hubs, ${rule}: ${place.partition} of 8`);
}

const effective = cosmosKey('multi-hash', [key, 'eu']);
if (effective.kind === 'key') console.log(`Cosmos DB: ${effective.key}`);

const pin = busPin({ sessionId: key }, { isPartitioned: true, detectsDuplicates: false });
if (pin.kind === 'pinned') console.log(`Service Bus: pinned by ${pin.by} '${pin.key}'`);

const cluster = redisSlotRanges(['cache-a', 'cache-b', 'cache-c']);
if (cluster.kind === 'slots') {
  const place = redisServer(`{${key}}:orders`, cluster);
  if (place.kind === 'server') console.log(`Redis: slot ${redisSlot(key)}, ${place.server}`);
}

const scheme = { kind: 'int64', low: -(2n ** 63n), high: 2n ** 63n - 1n, count: 10 } as const;
const fabric = fabricPartition(scheme, { kind: 'int64', key: fabricKeyOf(key) });
if (fabric.kind === 'partition') console.log(`Service Fabric: ${fabric.partition} of 10`);

console.log(
  `Tables: ${tablePartitionKey({ account: 'shop', table: 'orders', partitionKey: key })}`,
);
const queue = queueOfKey(key, ['orders-0', 'orders-1', 'orders-2']);
if (queue.kind === 'queue') console.log(`Queues: ${queue.queue}`);
console.log(`Blobs: ${hashedBlobName(`${key}/2024-05-31.json`)}`);
console.log(`Blobs: ${blobNameAdvice(['2024-05-30', '2024-05-31', '2024-06-01']).advice}`);

const tenant = sqlShardText({ type: 'int', value: bucketOf(key, 1000) });
if (tenant.kind === 'text') console.log(`SQL: shard key ${tenant.text}`);

const search = searchCapacity({ documents: 40_000_000, bytes: 200e9, queryRate: 40 });
if (search.kind === 'capacity') {
  console.log(`Search: ${search.partitions} partitions, ${search.replicas} replicas`);
}

const refused = eventHubsPartition(
  { partitionKey: key, partitionId: '1' },
  { partitions: 8, rule: 'javascript' },
);
if (refused.kind === 'refused') console.log(refused.message);
