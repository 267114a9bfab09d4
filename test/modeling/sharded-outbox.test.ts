import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  defineEntity,
  int32,
  key,
  string,
  type RowKey,
  type TableGateway,
} from '../../src/modeling/index.js';
import { counter, openModel } from '../../src/modeling/model/index.js';
import {
  changeFeed,
  changeFeedOf,
  trimFeed,
} from '../../src/modeling/patterns/change-feed/index.js';
import { MarkUpkeep } from '../../src/modeling/patterns/materialised-views/mark-upkeep.js';
import { listRouting, shardMapOf } from '../../src/modeling/patterns/shard-map/index.js';
import { deleteRows } from '../../src/modeling/patterns/transactional-outbox/message-sink.js';
import {
  knownPartitions,
  outboxOf,
  relayOf,
} from '../../src/modeling/patterns/transactional-outbox/index.js';
import { keyPayload } from '../../src/modeling/worker/entity-payload.js';
import { defineMessage } from '../../src/modeling/worker/message-type.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { costly } from '../support/run-length.js';

// A transaction of shards has room for 99 writes, and what is written together is often a hundred.

const Person = defineEntity({
  type: 'Person',
  properties: { team: string(), id: int32() },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const Total = defineEntity({
  type: 'Total',
  properties: { name: string(), count: int32().default(0) },
  partitionKey: (p) => key`total_${p.name}`,
  rowKey: () => key`total`,
});
const hourMicros = 3_600_000_000;

async function newShards(): Promise<TableGateway> {
  const newTable = (table: string) => new MemoryTable(new MemoryRows(), { table });
  const map = shardMapOf({
    name: 'staff',
    control: newTable('control'),
    shards: { a: newTable('a'), b: newTable('b') },
    refreshMs: 0,
    settleMs: 0,
  });
  await map.create(listRouting({}, 'a'));
  return map.table;
}

const total = counter({
  source: Person,
  view: Total,
  keyOf: () => ({ name: 'all' }),
  measures: { count: () => 1 },
});

/** A model after 101 changes of a partition and a sweep. */
async function filledModel(keeps: typeof total) {
  const table = await newShards();
  const model = openModel({ table, entities: { people: Person, totals: Total }, keeps: [keeps] });
  for (let id = 0; id < 101; id += 1) await model.entities.people.insert({ team: 'a', id });
  const report = await model.drain();
  return { table, model, report };
}

async function countIn(table: TableGateway, partitionKey: string, prefix: string) {
  const { rows } = await table.page({ partitionKey });
  return rows.filter(({ rowKey }) => rowKey.startsWith(prefix)).length;
}

describe('an outbox over shards', () => {
  it('is emptied of more messages than a transaction has room for', costly(), async () => {
    const { table, model, report } = await filledModel(total);
    assert.deepEqual(report.unfinished, []);
    assert.equal((await model.entities.totals.get({ name: 'all' }))?.count, 101);
    assert.equal(await countIn(table, 'a', '~outbox'), 0);
  });

  it('has more poison messages tried again than a transaction has room for', async () => {
    const table = await newShards();
    const Hired = defineMessage('hired', { payload: keyPayload(Person) });
    const outbox = outboxOf({ table, registry: knownPartitions(['a']) });
    for (let id = 0; id < 101; id += 1) {
      await outbox.transact([], [await outbox.message('a', Hired, { team: 'a', id })]);
    }
    const handled: string[] = [];
    const relayTo = (isRefused: boolean) =>
      relayOf({
        table,
        registry: knownPartitions(['a']),
        attemptsMax: 1,
        dispatch: async ({ id }) => {
          if (isRefused) throw new Error('refused');
          handled.push(id);
        },
      });
    assert.equal((await relayTo(true).partition('a')).poisoned, 101);
    assert.equal(await relayTo(false).redrive('a'), 101);
    await relayTo(false).partition('a');
    assert.equal(new Set(handled).size, 101);
  });

  it('has more events deleted from its feed than a transaction has room for', async () => {
    const { table, report } = await filledModel(changeFeed());
    assert.deepEqual(report.unfinished, []);
    const clock = manualClock(Date.now() * 1000 + 2 * hourMicros);
    assert.equal(await trimFeed(changeFeedOf(table), 'a', { keepMs: 3_600_000, clock }), 101);
    assert.equal(await countIn(table, 'a', '~feed_'), 0);
  });

  it('has more marks settled and forgotten than a transaction has room for', async () => {
    const { table } = await filledModel(total);
    const clock = manualClock(Date.now() * 1000 + 30 * hourMicros);
    const upkeep = new MarkUpkeep({ table, outbox: table, clock });
    for (let round = 0; round < 4; round += 1) await upkeep.round('total_all');
    assert.equal(await countIn(table, 'total_all', '~applied_'), 0);
  });

  it('deletes those that are there when others have deleted some', async () => {
    const table = await newShards();
    const keys = Array.from({ length: 130 }, (_, id): RowKey => ({
      partitionKey: 'a',
      rowKey: String(id).padStart(3, '0'),
    }));
    for (const [id, each] of keys.entries()) {
      if (id % 60 !== 7) await table.write({ kind: 'insert', row: { ...each, properties: {} } });
    }
    await deleteRows(table, keys);
    assert.equal(await countIn(table, 'a', ''), 0);
  });
});
