import {
  blobNameAdvice,
  busTransactionPin,
  cosmosPrefixRange,
  eventHubsPartition,
  fabricRanges,
  queuesFor,
  redisSameSlot,
  searchCapacity,
  secondsFirst,
  shardKeyText,
  shardOfText,
  tableSpread,
  typedRouting,
} from 'tabularium/placement';

// The rule of each system, in the order of the chapters of the guide.

const tenants = typedRouting('int', {
  kind: 'range',
  ranges: [{ shard: 'first' }, { from: 1000, shard: 'second' }],
});
const tenant = shardKeyText('int', 1234);
if (tenants.kind === 'routing' && tenant.kind === 'text') {
  console.log(`SQL: tenant 1234 is on ${shardOfText(tenants.routing, tenant.text)}`);
}

const spread = tableSpread({ rate: 9000, bytes: 2e12 });
if (spread.kind === 'spread') {
  console.log(`Tables: ${spread.partitions} partitions, ${spread.accounts} account`);
}

const advice = blobNameAdvice(['log/2024-05-30', 'log/2024-05-31', 'log/2024-06-01']);
console.log(`Blobs: ${advice.kind}`);
const first = secondsFirst(new Date('2024-06-01T12:30:45Z'));
if (first.kind === 'text') console.log(`Blobs: log/${first.text}`);

const queues = queuesFor(5000);
if (queues.kind === 'queues') console.log(`Queues: ${queues.queues} for 5,000 messages/s`);

const entity = { isPartitioned: true, detectsDuplicates: false };
const pin = busTransactionPin([{ sessionId: 'a' }, { partitionKey: 'b' }], entity);
if (pin.kind === 'refused') console.log(`Service Bus: ${pin.message}`);

const levels = cosmosPrefixRange(['Contoso']);
if (levels.kind === 'keys') console.log(`Cosmos DB: from ${levels.min.slice(0, 8)}`);

const basic = searchCapacity({ documents: 1e6, bytes: 20e9, queryRate: 20 }, { tier: 'basic' });
if (basic.kind === 'capacity') console.log(`Search: ${basic.units} units of Basic`);

const together = redisSameSlot(['{7}:cart', '{7}:name']);
if (together.kind === 'slot') console.log(`Redis: both in slot ${together.slot}`);

const ranges = fabricRanges(0n, 99n, 3);
if (ranges.kind === 'ranges') {
  const shown = ranges.ranges.map(({ low, high }) => `${low} to ${high}`);
  console.log(`Service Fabric: ${shown.join(', ')}`);
}

for (const rule of ['javascript', 'python'] as const) {
  const event = eventHubsPartition({ partitionKey: '7' }, { partitions: 4, rule });
  if (event.kind === 'partition') console.log(`Event Hubs, ${rule}: 7 is in ${event.partition}`);
}
