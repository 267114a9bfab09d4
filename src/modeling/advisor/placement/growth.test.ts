import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PlacementDesign } from './design.js';
import { reviewPlacement } from './review-placement.js';

// Findings of today and of the growth to plan for, secrets of one row, and where findings are from.

const textsOf = (design: PlacementDesign): readonly string[] =>
  reviewPlacement(design).map(({ id, problem }) => `${id}: ${problem}`);

const asked = { perSecond: 15, hasKey: true, referenceData: 'in-one-place' } as const;
const shard = { name: 'a', requestsPerSecond: 10 };
const hub = { partitions: 4, units: 1, bytesIn: 800_000 } as const;
const gib = 2 ** 30;

/** Designs without a finding, the growth that brings one, and what it says. */
const growing: readonly (readonly [PlacementDesign, string])[] = [
  [
    {
      shards: [shard, { ...shard, name: 'b', requestsPerSecond: 1 }],
      shardTargets: { requestsPerSecond: 15 },
    },
    'shard-over-target: requestsPerSecond will be 20; one shard carries 15.',
  ],
  [
    { queues: [{ name: 'orders', messagesPerSecond: 1500, areas: 1 }] },
    'queue-rate: It will get 3000 messages/s.',
  ],
  [{ accounts: 150 }, 'limit-of-level: It will have 300 accounts a subscription.'],
  [{ databases: 3000 }, 'limit-of-level: It will have 6000 databases a server.'],
  [
    { blobs: [{ name: 'film', requestsPerSecond: 300 }] },
    'blob-rate: It will have 600 requests/s.',
  ],
  [
    { queries: [{ ...asked, name: 'rates' }], shardTargets: { requestsPerSecond: 20 } },
    'reference-data-hot: They will be asked 30 times a second in one place that carries 20.',
  ],
  [
    { maintenance: { bytes: 60, bytesPerSecond: 1, windowSeconds: 100 } },
    'maintenance-window: It will take 120 s, and 100 s are there.',
  ],
  [
    { systems: { eventHubs: hub } },
    'eventhub-unit-rate: 1600000 bytes/s will be more than 1 units carry.',
  ],
  [
    { systems: { eventHubs: { ...hub, tier: 'basic' } } },
    'eventhub-unit-rate: 1600000 bytes/s will be more than 1 units carry.',
  ],
  [
    { systems: { cosmosDb: { version: 'v2', largestLogicalBytes: 15 * gib } } },
    `cosmos-logical-size: A logical partition will have ${30 * gib} bytes.`,
  ],
  [
    { systems: { cosmosDb: { version: 'v2', busiestLogicalRate: 6000 } } },
    'cosmos-rate: It will have 12000 RU/s.',
  ],
  [{ systems: { redis: { bytes: 40 * gib } } }, `redis-size: It will have ${80 * gib} bytes.`],
];

describe('the growth to plan for', () => {
  for (const [design, text] of growing) {
    it(`is told from today: ${text}`, () => {
      assert.deepEqual(textsOf({ ...design, growth: 1 }), []);
      assert.deepEqual(textsOf(design), []);
      assert.deepEqual(textsOf({ ...design, growth: 2 }), [text]);
    });
  }

  it('hides nothing that is too much today, also where less is expected', () => {
    const shards = [shard, { ...shard, name: 'b', connections: 40 }];
    const shardTargets = { requestsPerSecond: 15, connections: 30 };
    const expected = ['shard-over-target: connections is 40; one shard carries 30.'];
    for (const growth of [0.5, 1]) {
      assert.deepEqual(textsOf({ shards, shardTargets, growth }), expected);
    }
  });

  it('asks for a key wherever one shard will not do: connections and bytes a second', () => {
    for (const figure of ['connections', 'bytesPerSecond'] as const) {
      const ids = (growth: number) =>
        reviewPlacement({
          shards: [{ ...shard, [figure]: 10 }],
          shardTargets: { [figure]: 20 },
          growth,
        }).map(({ id }) => id);
      assert.deepEqual(ids(2), []);
      assert.deepEqual(ids(3), ['shard-over-target', 'partition-late']);
    }
  });
});

describe('secrets of one row', () => {
  const secret = (name: string) =>
    ({ name, readsPerSecond: 1, writesPerSecond: 0, isSecret: true }) as const;

  it('are apart, as a card number and its security code, and one alone is', () => {
    const found = reviewPlacement({ fields: [secret('cardNumber'), secret('securityCode')] });
    assert.deepEqual(
      found.map(({ id, subject }) => `${id} ${subject}`),
      ["vertical-split field 'cardNumber'", "vertical-split field 'securityCode'"],
    );
    assert.deepEqual(reviewPlacement({ fields: [secret('cardNumber')] }), []);
  });
});

it('a finding names the sentences of the guidance that ask for it', () => {
  const [found] = reviewPlacement({ answers: { integrityJob: 'no' } });
  assert.deepEqual(found?.guidance, ['G58']);
  assert.ok(Object.isFrozen(found.guidance));
});
