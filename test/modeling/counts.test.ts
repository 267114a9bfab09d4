import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bulk,
  defineEntity,
  entitiesOf,
  int32,
  key,
  transaction,
  upgradeRows,
  ValueError,
  type TableGateway,
} from '../../src/modeling/index.js';
import { trimFeed, changeFeedOf } from '../../src/modeling/patterns/change-feed/index.js';
import { contextReference, contextsOf } from '../../src/modeling/patterns/contexts/index.js';
import {
  archiveEntities,
  deleteWhere,
} from '../../src/modeling/patterns/high-volume-delete/index.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/index.js';
import { shardedCounterOf } from '../../src/modeling/patterns/materialised-views/index.js';
import { moveShard, shardQueryOf } from '../../src/modeling/patterns/shard-map/index.js';
import {
  relayOf,
  tableRegistryOf,
} from '../../src/modeling/patterns/transactional-outbox/index.js';
import { filledShards, Order } from './support/memory-shards.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';

const Item = defineEntity({
  type: 'Item',
  properties: { group: int32(), id: int32(), shard: int32(), count: int32().default(0) },
  partitionKey: (p) => key`${p.group.padded(4)}`,
  rowKey: (p) => key`${p.id.padded(4)}_${p.shard.padded(4)}`,
});

/** A table that nobody may ask. */
function untouched(): TableGateway {
  const table = new MemoryTable(new MemoryRows());
  return wrappedMethods(table, (method) => assert.fail(`a request was sent: ${method}`));
}

type Call = (count: number) => unknown;

const items = entitiesOf(Item, untouched());
const partition = { group: 1 };

/** Calls with a count of the option that is named first. */
const calls: readonly (readonly [option: string, name: string, call: Call])[] = [
  ['concurrency', 'bulk', (concurrency) => bulk(untouched(), [], { concurrency })],
  ['attemptsMax', 'bulk', (attemptsMax) => bulk(untouched(), [], { attemptsMax })],
  [
    'concurrency',
    'archiveEntities',
    (concurrency) =>
      archiveEntities({ from: items, to: items, query: {}, convert: (item) => item, concurrency }),
  ],
  [
    'concurrency',
    'deleteWhere',
    (concurrency) => deleteWhere(untouched(), { partitionKey: 'a' }, { concurrency }),
  ],
  [
    'rowsMax',
    'deleteWhere',
    (rowsMax) => deleteWhere(untouched(), { partitionKey: 'a' }, { rowsMax }),
  ],
  ['concurrency', 'upgradeRows', (concurrency) => upgradeRows(items, { concurrency })],
  ['pageRows', 'upgradeRows', (pageRows) => upgradeRows(items, { pageRows })],
  ['concurrency', 'getMany', (concurrency) => items.getMany([], { concurrency })],
  [
    'concurrency',
    'queryPartitions',
    (concurrency) => items.queryPartitions({ partitions: [partition], concurrency }),
  ],
  [
    'attemptsMax',
    'update',
    (attemptsMax) => items.update({ group: 1, id: 1, shard: 0 }, (item) => item, { attemptsMax }),
  ],
  ['attemptsMax', 'transaction', (attemptsMax) => transaction(untouched(), { attemptsMax })],
  [
    'concurrency',
    'checkReferences',
    (concurrency) =>
      contextsOf({ all: [[Item, untouched()]] }, [
        contextReference('itself', Item, Item, (item) => item),
      ]).checkReferences({ concurrency }),
  ],
  [
    'concurrency',
    'relayOf',
    (concurrency) => {
      const registry = tableRegistryOf(untouched(), 'orders');
      return relayOf({
        table: untouched(),
        registry,
        dispatch: async () => undefined,
        concurrency,
      });
    },
  ],
  ['buckets', 'tableRegistryOf', (buckets) => tableRegistryOf(untouched(), 'orders', { buckets })],
  [
    'concurrency',
    'withLargeValues',
    (concurrency) => withLargeValues(untouched(), { concurrency }),
  ],
  [
    'concurrency',
    'shardedCounterOf',
    (concurrency) =>
      shardedCounterOf(Item, untouched(), {
        shard: 'shard',
        shards: 4,
        measures: ['count'],
        concurrency,
      }),
  ],
  ['max', 'trimFeed', (max) => trimFeed(changeFeedOf(untouched()), 'a', { keepMs: 0, max })],
];

const wrong = [NaN, 0, -1, 1.5, Infinity];

describe('a count', () => {
  for (const [option, name, call] of calls) {
    it(`is a whole number from 1 before anything is sent: ${option} of ${name}`, async () => {
      for (const count of wrong) {
        await assert.rejects(
          async () => call(count),
          (error: unknown) =>
            error instanceof ValueError && error.message.startsWith(`${option} of ${count}: give `),
          String(count),
        );
      }
    });
  }

  it('is a whole number before a step of a shard map changes anything', async () => {
    const { shards, map } = await filledShards();
    const { unguarded, operations } = map;
    const { id } = await operations.begin(moveShard('north', 'west'), { title: 'away' });
    const before = [shards.control.all, shards.rows('west', 'orders').all];
    const steps: readonly Call[] = [
      (concurrency) => operations.run(id, { concurrency }),
      (concurrency) => unguarded.close('offline', { concurrency }),
      (concurrency) => unguarded.backfill({ concurrency }),
      (concurrency) => unguarded.verify({ concurrency }),
      (concurrency) => unguarded.cutOver({ concurrency }),
      (concurrency) => unguarded.rollBack({ concurrency }),
      (concurrency) => unguarded.apply(moveShard('north', 'west'), { concurrency }),
      (concurrency) => unguarded.recovery.rebuildLocal('north', { concurrency, write: true }),
      (parallel) => shardQueryOf(Order, map, {}, { parallel }),
    ];
    for (const step of steps) {
      for (const count of wrong) {
        await assert.rejects(
          async () => step(count),
          { name: 'ValueError', message: /^(concurrency|parallel) of / },
          `${String(step)} ${count}`,
        );
      }
    }
    assert.deepEqual([shards.control.all, shards.rows('west', 'orders').all], before);
  });
});
