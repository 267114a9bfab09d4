import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PlacementDesign, ShardFacts } from './design.js';
import { placementRules, reviewPlacement } from './review-placement.js';

function idsOf(design: PlacementDesign): readonly string[] {
  return [...new Set(reviewPlacement(design).map(({ id }) => id))].sort();
}

const shard = (name: string, requestsPerSecond: number, more: Partial<ShardFacts> = {}) => ({
  name,
  requestsPerSecond,
  ...more,
});
const key = { type: 'text', values: 10_000, by: 'hash' } as const;
const two = [shard('north', 100), shard('south', 120)];
const query = { name: 'by name', perSecond: 5, hasKey: true };
const bus = { isPartitioned: true, detectsDuplicates: false };
const whole = { isPartitioned: false, detectsDuplicates: false };
const gib = 2 ** 30;

const field = (name: string) => ({ name, readsPerSecond: 1, writesPerSecond: 0 });

/** For each rule a design that raises it, and a similar one that does not. */
const cases: Readonly<Record<string, readonly [PlacementDesign, PlacementDesign]>> = {
  'shard-key-skew': [
    { shards: [shard('a', 1000), shard('b', 100), shard('c', 100)] },
    { shards: [shard('a', 150), shard('b', 100), shard('c', 100)] },
  ],
  'split-foreseeable': [
    { shards: [shard('a', 1, { largestTenant: 0.3 })] },
    { shards: [shard('a', 1, { largestTenant: 0.25 })] },
  ],
  'monotone-names': [
    { key: { type: 'int', values: 1000, by: 'value', order: 'increasing' } },
    { key: { type: 'int', values: 1000, by: 'hash', order: 'increasing' } },
  ],
  'single-partition': [{ key: { ...key, values: 1 } }, { key: { ...key, values: 2 } }],
  'partition-per-entity': [
    { key: { ...key, isOfOneEntity: true }, transactions: [{ name: 'order', shards: 1 }] },
    { key: { ...key, isOfOneEntity: true } },
  ],
  'unsupported-key-type': [{ key: { ...key, type: 'double' } }, { key: { ...key, type: 'guid' } }],
  'partition-late': [
    { shards: [shard('a', 900)], growth: 3, shardTargets: { requestsPerSecond: 2000 } },
    { shards: [shard('a', 900)], growth: 2, shardTargets: { requestsPerSecond: 2000 } },
  ],
  'shard-over-target': [
    { shards: two, growth: 10, shardTargets: { requestsPerSecond: 1100 } },
    { shards: two, growth: 10, shardTargets: { requestsPerSecond: 1200 } },
  ],
  'hot-and-cold-shard': [
    { shards: [shard('a', 1001), shard('b', 100)] },
    { shards: [shard('a', 1000), shard('b', 100)] },
  ],
  'queue-rate': [
    { queues: [{ name: 'orders', messagesPerSecond: 2001, areas: 1 }] },
    { queues: [{ name: 'orders', messagesPerSecond: 2000, areas: 1 }] },
  ],
  'queue-shared-by-areas': [
    { queues: [{ name: 'all', messagesPerSecond: 1, areas: 2 }] },
    { queues: [{ name: 'orders', messagesPerSecond: 1, areas: 1 }] },
  ],
  'limit-of-level': [{ accounts: 201 }, { accounts: 200 }],
  'fan-out-query': [
    { shards: two, queries: [{ ...query, hasKey: false }] },
    { shards: two, queries: [{ ...query, hasKey: false, perSecond: 0.1 }] },
  ],
  'slow-critical-query': [
    { queries: [{ ...query, isCritical: true, targetMs: 50, expectedMs: 51 }] },
    { queries: [{ ...query, isCritical: true, targetMs: 50, expectedMs: 50 }] },
  ],
  'reference-data-missing': [
    { shards: two, queries: [{ ...query, referenceData: 'in-one-place' }] },
    { shards: two, queries: [{ ...query, referenceData: 'on-every-shard' }] },
  ],
  'reference-data-hot': [
    {
      queries: [{ ...query, perSecond: 21, referenceData: 'in-one-place' }],
      shardTargets: { requestsPerSecond: 20 },
    },
    {
      queries: [{ ...query, perSecond: 20, referenceData: 'in-one-place' }],
      shardTargets: { requestsPerSecond: 20 },
    },
  ],
  'geo-far': [
    { shards: [shard('a', 1, { region: 'eu' })], queries: [{ ...query, region: 'us' }] },
    { shards: [shard('a', 1, { region: 'us' })], queries: [{ ...query, region: 'us' }] },
  ],
  'geo-hash-mix': [
    { key, shards: [shard('a', 1, { region: 'eu' }), shard('b', 1, { region: 'us' })] },
    { key, shards: [shard('a', 1, { region: 'eu' }), shard('b', 1, { region: 'eu' })] },
  ],
  'cross-shard-transaction': [
    { transactions: [{ name: 'order', shards: 2 }] },
    { transactions: [{ name: 'order', shards: 1 }] },
  ],
  'cross-shard-reference': [
    { references: [{ name: 'lines to orders', across: 'shards', isChecked: false }] },
    { references: [{ name: 'lines to orders', across: 'shards', isChecked: true }] },
  ],
  'mixed-schema-map': [{ schemasOfMap: 2 }, { schemasOfMap: 1 }],
  'replica-consistency': [
    { replicas: { areReadFrom: true, mayBeOld: false } },
    { replicas: { areReadFrom: true, mayBeOld: true } },
  ],
  'vertical-split': [
    {
      fields: [
        { name: 'price', readsPerSecond: 10, writesPerSecond: 1 },
        { name: 'stock', readsPerSecond: 1, writesPerSecond: 11 },
      ],
    },
    {
      fields: [
        { name: 'price', readsPerSecond: 10, writesPerSecond: 1 },
        { name: 'stock', readsPerSecond: 1, writesPerSecond: 10 },
      ],
    },
  ],
  'functional-split': [
    {
      areas: [
        { name: 'billing', account: 'shop' },
        { name: 'reports', account: 'shop', isReport: true },
      ],
    },
    {
      areas: [
        { name: 'billing', account: 'shop' },
        { name: 'reports', account: 'reports', isReport: true },
      ],
    },
  ],
  'mixed-criticality': [
    { shards: [shard('a', 1, { holds: ['critical', 'transient'] })] },
    { shards: [shard('a', 1, { holds: ['ordinary', 'transient'] })] },
  ],
  'no-replica-for-critical': [
    { shards: [shard('a', 1, { holds: ['critical'], hasReplica: false })] },
    { shards: [shard('a', 1, { holds: ['critical'], hasReplica: true })] },
  ],
  'maintenance-window': [
    { maintenance: { bytes: 101 * gib, bytesPerSecond: gib, windowSeconds: 100 } },
    { maintenance: { bytes: 100 * gib, bytesPerSecond: gib, windowSeconds: 100 } },
  ],
  'no-backup-plan': [{ answers: { backupPlan: 'no' } }, { answers: { backupPlan: 'yes' } }],
  'no-integrity-job': [{ answers: { integrityJob: 'no' } }, { answers: { integrityJob: 'yes' } }],
  'no-rebalance-plan': [
    { answers: { rebalancePlan: 'unknown' } },
    { answers: { rebalancePlan: 'yes' } },
  ],
  'no-bulk-loader': [{ answers: { bulkLoader: 'no' } }, { answers: { bulkLoader: 'yes' } }],
  'no-archive-policy': [
    { answers: { archivePolicy: 'no' } },
    { answers: { archivePolicy: 'yes' } },
  ],
  'no-monitoring': [{ answers: { monitoring: 'unknown' } }, { answers: {} }],
  'servicebus-pin': [
    { systems: { serviceBus: { entity: bus, needsNoOrder: true, message: { sessionId: 's' } } } },
    { systems: { serviceBus: { entity: bus, needsNoOrder: true, message: { messageId: 'm' } } } },
  ],
  'blob-rate': [
    { blobs: [{ name: 'logo', requestsPerSecond: 501 }] },
    { blobs: [{ name: 'logo', requestsPerSecond: 500 }] },
  ],
  'servicebus-namespace': [
    { systems: { serviceBus: { entity: bus, partitionedEntities: 101 } } },
    { systems: { serviceBus: { entity: bus, partitionedEntities: 100 } } },
  ],
  'servicebus-partitioned': [
    { systems: { serviceBus: { entity: bus, deletesWhenIdle: true } } },
    { systems: { serviceBus: { entity: whole, deletesWhenIdle: true } } },
  ],
  'eventhub-unit-rate': [
    { systems: { eventHubs: { partitions: 4, units: 2, eventsIn: 2001 } } },
    { systems: { eventHubs: { partitions: 4, units: 2, eventsIn: 2000 } } },
  ],
  'cosmos-rate': [
    { systems: { cosmosDb: { version: 'v2', busiestLogicalRate: 10_001 } } },
    { systems: { cosmosDb: { version: 'v2', busiestLogicalRate: 10_000 } } },
  ],
  'cosmos-id-length': [
    { systems: { cosmosDb: { version: 'v2', longestId: 256 } } },
    { systems: { cosmosDb: { version: 'v2', longestId: 255 } } },
  ],
  'redis-size': [
    { growth: 2, systems: { redis: { bytes: 26.6 * gib } } },
    { growth: 2, systems: { redis: { bytes: 26.5 * gib } } },
  ],
  'redis-transaction': [
    { systems: { redis: { needsRollBack: true } } },
    { systems: { redis: { needsRollBack: false } } },
  ],
  'servicebus-transaction': [
    {
      systems: {
        serviceBus: { entity: bus, transaction: [{ partitionKey: 'p' }, { partitionKey: 'q' }] },
      },
    },
    {
      systems: {
        serviceBus: { entity: bus, transaction: [{ partitionKey: 'p' }, { partitionKey: 'p' }] },
      },
    },
  ],
  'eventhub-count': [
    { systems: { eventHubs: { partitions: 33 } } },
    { systems: { eventHubs: { partitions: 33, tier: 'premium' } } },
  ],
  'eventhub-fixed-partition': [
    { systems: { eventHubs: { partitions: 4, sendsToPartitionId: true } } },
    { systems: { eventHubs: { partitions: 4, sendsToPartitionId: false } } },
  ],
  'eventhub-mixed-hash': [
    { systems: { eventHubs: { partitions: 4, rules: ['javascript', 'python'] } } },
    { systems: { eventHubs: { partitions: 4, rules: ['javascript', 'javascript'] } } },
  ],
  'cosmos-logical-size': [
    { systems: { cosmosDb: { version: 'v2', largestLogicalBytes: 20 * gib + 1 } } },
    { systems: { cosmosDb: { version: 'v2', largestLogicalBytes: 20 * gib } } },
  ],
  'cosmos-v1-prefix': [
    { systems: { cosmosDb: { version: 'v1', longestKey: 101 } } },
    { systems: { cosmosDb: { version: 'v2', longestKey: 101 } } },
  ],
  'redis-crossslot': [
    { systems: { redis: { together: [['customer:7', 'orders:7']] } } },
    { systems: { redis: { together: [['customer:{7}', 'orders:{7}']] } } },
  ],
  'redis-durable': [
    { systems: { redis: { isOnlyCopy: true } } },
    { systems: { redis: { isOnlyCopy: false } } },
  ],
  'redis-ring': [
    { systems: { redis: { isModulo: true, grows: true } } },
    { systems: { redis: { isModulo: true, grows: false } } },
  ],
  'search-units': [
    { systems: { search: { partitions: 12, replicas: 4 } } },
    { systems: { search: { partitions: 12, replicas: 3 } } },
  ],
  'fabric-count-fixed': [
    { systems: { serviceFabric: { partitions: 10, partitionsLater: 11 } } },
    { systems: { serviceFabric: { partitions: 10, partitionsLater: 10 } } },
  ],
};

/** Further designs that raise a rule, each with a similar one that does not. */
const further: readonly (readonly [id: string, why: string, PlacementDesign, PlacementDesign])[] = [
  [
    'shard-key-skew',
    'first letters',
    { key: { ...key, by: 'first-letter' } },
    { key: { ...key, by: 'value' } },
  ],
  [
    'shard-key-skew',
    'few values',
    { shards: two, key: { ...key, values: 19 } },
    { shards: two, key: { ...key, values: 20 } },
  ],
  [
    'shard-key-skew',
    'fewer values than shards, in a list',
    { shards: two, key: { ...key, by: 'value', values: 1 } },
    { shards: two, key: { ...key, by: 'value', values: 2 } },
  ],
  [
    'split-foreseeable',
    'a tenant with others, but not by one alone',
    { shards: [shard('a', 1, { largestTenant: 0.99 })] },
    { shards: [shard('a', 1, { largestTenant: 1 })] },
  ],
  [
    'geo-far',
    'shards elsewhere, but not by shards that are not told',
    { shards: [shard('a', 1, { region: 'eu' })], queries: [{ ...query, region: 'us' }] },
    { queries: [{ ...query, region: 'us' }] },
  ],
  [
    'monotone-names',
    'numbers of blobs, but not by hashes that are in order by chance',
    { blobNames: ['order-1', 'order-2', 'order-3', 'order-4', 'order-5'] },
    { blobNames: ['017-a', '203-b', '811-c'] },
  ],
  [
    'eventhub-count',
    'growth, but not where a hub can get more partitions',
    { systems: { eventHubs: { partitions: 4, partitionsLater: 8, tier: 'standard' } } },
    { systems: { eventHubs: { partitions: 4, partitionsLater: 8, tier: 'premium' } } },
  ],
  [
    'eventhub-count',
    'growth beyond what a hub can get',
    { systems: { eventHubs: { partitions: 4, partitionsLater: 101, tier: 'premium' } } },
    { systems: { eventHubs: { partitions: 4, partitionsLater: 100, tier: 'premium' } } },
  ],
  [
    'search-units',
    'a tier, but not by one of which nothing is published',
    { systems: { search: { partitions: 5, replicas: 1, tier: 'standard' } } },
    { systems: { search: { partitions: 5, replicas: 1, tier: 'S1' } } },
  ],
  [
    'monotone-names',
    'names of blobs',
    { blobNames: ['2024-05-30', '2024-05-31', '2024-06-01'] },
    { blobNames: ['203-2024-05-30', '017-2024-05-31', '811-2024-06-01'] },
  ],
  [
    'partition-per-entity',
    'ranges',
    { key: { ...key, isOfOneEntity: true }, queries: [{ ...query, readsRange: true }] },
    { key: { ...key, isOfOneEntity: true }, queries: [query] },
  ],
  [
    'partition-per-entity',
    'entities that share a key',
    { key: { ...key, isOfOneEntity: true }, queries: [{ ...query, readsRange: true }] },
    { key: { ...key, isOfOneEntity: false }, queries: [{ ...query, readsRange: true }] },
  ],
  [
    'partition-late',
    'bytes',
    { shards: [shard('a', 1, { bytes: 9 })], growth: 3, shardTargets: { bytes: 20 } },
    { shards: [shard('a', 1, { bytes: 9 })], growth: 2, shardTargets: { bytes: 20 } },
  ],
  [
    'shard-over-target',
    'bytes',
    { shards: [shard('a', 1, { bytes: 101 })], shardTargets: { bytes: 100 } },
    { shards: [shard('a', 1, { bytes: 100 })], shardTargets: { bytes: 100 } },
  ],
  [
    'shard-over-target',
    'connections',
    { shards: [shard('a', 1, { connections: 31 })], shardTargets: { connections: 30 } },
    { shards: [shard('a', 1, { connections: 30 })], shardTargets: { connections: 30 } },
  ],
  [
    'shard-over-target',
    'bytes in a second',
    { shards: [shard('a', 1, { bytesPerSecond: 11 })], shardTargets: { bytesPerSecond: 10 } },
    { shards: [shard('a', 1, { bytesPerSecond: 10 })], shardTargets: { bytesPerSecond: 10 } },
  ],
  ['limit-of-level', 'databases', { databases: 5001 }, { databases: 5000 }],
  [
    'blob-rate',
    'bytes',
    { blobs: [{ name: 'film', requestsPerSecond: 1, bytesPerSecond: 60_000_001 }] },
    { blobs: [{ name: 'film', requestsPerSecond: 1, bytesPerSecond: 60_000_000 }] },
  ],
  [
    'fan-out-query',
    'criticality',
    { shards: two, queries: [{ ...query, hasKey: false, perSecond: 0.1, isCritical: true }] },
    { shards: two, queries: [{ ...query, hasKey: false, perSecond: 0.1, isCritical: false }] },
  ],
  [
    'vertical-split',
    'changes between reads, but not by rare ones',
    {
      fields: [
        { ...field('name'), readsPerSecond: 99 },
        { ...field('state'), writesPerSecond: 1 },
      ],
    },
    {
      fields: [
        { ...field('name'), readsPerSecond: 100 },
        { ...field('state'), writesPerSecond: 1 },
      ],
    },
  ],
  [
    'vertical-split',
    'secrecy',
    { fields: [field('name'), { ...field('card'), isSecret: true }] },
    { fields: [field('name'), field('card')] },
  ],
  [
    'functional-split',
    'areas',
    { areas: ['billing', 'stock'].map((name) => ({ name, account: 'shop' })) },
    { areas: ['billing', 'stock'].map((name) => ({ name, account: name })) },
  ],
  [
    'servicebus-transaction',
    'several queues',
    { systems: { serviceBus: { entity: bus, transactionTargets: 2 } } },
    { systems: { serviceBus: { entity: bus, transactionTargets: 1 } } },
  ],
  [
    'servicebus-partitioned',
    'a short wait',
    { systems: { serviceBus: { entity: bus, sendTimeoutSeconds: 15 } } },
    { systems: { serviceBus: { entity: bus, sendTimeoutSeconds: 16 } } },
  ],
  [
    'servicebus-partitioned',
    'peeking',
    { systems: { serviceBus: { entity: bus, peeksForOldest: true } } },
    { systems: { serviceBus: { entity: whole, peeksForOldest: true } } },
  ],
  [
    'servicebus-partitioned',
    'AMQP',
    { systems: { serviceBus: { entity: bus, usesAmqp: true } } },
    { systems: { serviceBus: { entity: bus, usesAmqp: false } } },
  ],
  [
    'eventhub-count',
    'growth',
    { systems: { eventHubs: { partitions: 4, partitionsLater: 5 } } },
    { systems: { eventHubs: { partitions: 4, partitionsLater: 4 } } },
  ],
  [
    'eventhub-count',
    'units',
    { systems: { eventHubs: { partitions: 100, tier: 'premium', units: 0.25 } } },
    { systems: { eventHubs: { partitions: 100, tier: 'premium', units: 0.5 } } },
  ],
  [
    'eventhub-unit-rate',
    'bytes out',
    { systems: { eventHubs: { partitions: 4, units: 1, bytesOut: 2_000_001 } } },
    { systems: { eventHubs: { partitions: 4, units: 1, bytesOut: 2_000_000 } } },
  ],
  [
    'redis-size',
    'a value',
    { systems: { redis: { largestValueBytes: gib / 2 + 1 } } },
    { systems: { redis: { largestValueBytes: gib / 2 } } },
  ],
  [
    'redis-size',
    'a key',
    { systems: { redis: { longestKeyBytes: gib / 2 + 1 } } },
    { systems: { redis: { longestKeyBytes: gib / 2 } } },
  ],
  [
    'search-units',
    'indexes',
    { systems: { search: { partitions: 1, replicas: 1, indexes: 51 } } },
    { systems: { search: { partitions: 1, replicas: 1, indexes: 50 } } },
  ],
];

describe('the review of a design of partitions', () => {
  it('has a case for every rule', () => {
    assert.deepEqual(Object.keys(cases).sort(), placementRules.map(({ id }) => id).sort());
  });

  for (const [id, [raised, neighbour]] of Object.entries(cases)) {
    it(`${id} is found in a design, and not in its neighbour`, () => {
      assert.ok(idsOf(raised).includes(id), JSON.stringify(reviewPlacement(raised)));
      assert.ok(!idsOf(neighbour).includes(id), JSON.stringify(reviewPlacement(neighbour)));
    });
  }

  for (const [id, why, raised, neighbour] of further) {
    it(`${id} is found by ${why}, and not in its neighbour`, () => {
      assert.ok(idsOf(raised).includes(id), JSON.stringify(reviewPlacement(raised)));
      assert.ok(!idsOf(neighbour).includes(id), JSON.stringify(reviewPlacement(neighbour)));
    });
  }

  it('quotes both figures where the guidance and the documentation differ', () => {
    const cosmosDb = { version: 'v2', largestLogicalBytes: 20 * gib + 1 } as const;
    const [found] = reviewPlacement({ systems: { cosmosDb } });
    assert.equal(
      found?.source,
      '21,474,836,480 bytes (documentation, 2026-11-23); 10,737,418,240 bytes (guidance, 2016-07-13)',
    );
  });

  it('finds nothing in what is not told', () => {
    assert.deepEqual(reviewPlacement({}), []);
  });

  it('quotes the published figure with its source, and goes by own ones', () => {
    const design = { queues: [{ name: 'orders', messagesPerSecond: 2500, areas: 1 }] };
    const [found] = reviewPlacement(design);
    assert.equal(found?.source, '2,000 messages/s (documentation, 2026-11-23)');
    const own = {
      system: 'queue',
      name: 'queue-rate',
      value: 3000,
      unit: 'messages/s',
      source: 'own',
      asOf: '2026-01-31',
      tier: undefined,
    } as const;
    assert.deepEqual(reviewPlacement(design, { limits: [own] }), []);
  });

  it('tells the most severe first', () => {
    const severities = reviewPlacement({
      shards: [shard('a', 1, { largestTenant: 0.5, holds: ['critical'], hasReplica: false })],
      answers: { monitoring: 'no' },
    }).map(({ severity }) => severity);
    assert.deepEqual(severities, ['error', 'warning', 'info']);
  });
});

describe('the examples of the guidance', () => {
  it('inventory from A to G and from H to Z: first letters are uneven', () => {
    const design: PlacementDesign = {
      shards: [shard('A-G', 100), shard('H-Z', 150)],
      key: { type: 'text', values: 5000, by: 'first-letter' },
    };
    assert.deepEqual(idsOf(design), ['shard-key-skew']);
  });

  it('a product: stock and last order change, name and price are read', () => {
    const [still, moving] = [
      { readsPerSecond: 500, writesPerSecond: 0.01 },
      { readsPerSecond: 20, writesPerSecond: 20 },
    ];
    const found = reviewPlacement({
      fields: [
        { name: 'name', ...still },
        { name: 'price', ...still },
        { name: 'stock', ...moving },
        { name: 'lastOrdered', ...moving },
      ],
    });
    assert.deepEqual(
      found.map(({ id, subject }) => `${id} ${subject}`),
      ["vertical-split field 'stock'", "vertical-split field 'lastOrdered'"],
    );
  });

  it('card numbers beside other fields: secrets are kept apart', () => {
    const rates = { readsPerSecond: 1, writesPerSecond: 0 };
    const fields = [
      { name: 'name', ...rates },
      { name: 'cardNumber', ...rates, isSecret: true },
    ];
    assert.deepEqual(idsOf({ fields }), ['vertical-split']);
  });

  it('billing, inventory and customers in one account: areas are divided', () => {
    const areas = ['billing', 'inventory', 'customers'].map((name) => ({ name, account: 'shop' }));
    assert.deepEqual(idsOf({ areas }), ['functional-split']);
  });

  it('tenants by a list are isolated; a range of them is split when one grows', () => {
    const list = [shard('one', 100), shard('two', 90)];
    const ids = (shards: readonly ShardFacts[]) => idsOf({ shards, key: { ...key, by: 'value' } });
    assert.deepEqual(ids(list), []);
    const range = [shard('0-99', 100, { largestTenant: 0.4 }), shard('100-199', 90)];
    assert.deepEqual(ids(range), ['split-foreseeable']);
  });

  it('orders by date in the Contoso account: all of today comes to one end', () => {
    const orders = { type: 'dateTime', values: 3650, by: 'value', order: 'increasing' } as const;
    assert.deepEqual(idsOf({ key: orders }), ['monotone-names']);
  });

  it('customers by city in the Contoso account: one city is in one place', () => {
    const customers = { type: 'text', values: 400, by: 'value', order: 'random' } as const;
    const queries = [{ name: 'of a city', perSecond: 5, hasKey: true, readsRange: true }];
    assert.deepEqual(idsOf({ key: customers, queries }), []);
  });

  it('products by category in the Contoso account: a number alone is looked for everywhere', () => {
    const products = { type: 'text', values: 40, by: 'value', order: 'random' } as const;
    const ofCategory = { name: 'of a category', perSecond: 50, hasKey: true, readsRange: true };
    const byNumber = { name: 'by number', perSecond: 5, hasKey: false };
    const ids = (queries: PlacementDesign['queries'] = []) =>
      idsOf({ key: products, shards: two, queries });
    assert.deepEqual(ids([ofCategory]), []);
    assert.deepEqual(ids([ofCategory, byNumber]), ['fan-out-query']);
  });

  it('bank transactions beside logs: one schedule of backups does not fit both', () => {
    const shards = [shard('ledger', 10, { holds: ['critical', 'transient'], hasReplica: true })];
    assert.deepEqual(idsOf({ shards }), ['mixed-criticality']);
  });
});

it('a review refuses figures that are none, and names them', () => {
  const maintenance = { bytes: 10, bytesPerSecond: 0, windowSeconds: 5 };
  const refused: readonly (readonly [PlacementDesign, RegExp])[] = [
    [{ maintenance }, /^maintenance\.bytesPerSecond: nothing is moved/],
    [{ maintenance: { ...maintenance, bytesPerSecond: NaN } }, /^maintenance\.bytesPerSecond: NaN/],
    [
      { shards: [shard('a', 1), shard('b', Infinity)] },
      /^shards\[1\]\.requestsPerSecond: Infinity/,
    ],
    [{ growth: -1 }, /^growth: -1 is no such figure/],
  ];
  for (const [design, message] of refused) {
    assert.throws(() => reviewPlacement(design), { name: 'ValueError', message });
  }
});
