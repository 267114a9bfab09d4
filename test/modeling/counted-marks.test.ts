import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  bulk,
  defineEntity,
  int32,
  key,
  string,
  writesOf,
  type TableGateway,
} from '../../src/modeling/index.js';
import { counter, openModel } from '../../src/modeling/model/index.js';
import { MarkUpkeep } from '../../src/modeling/patterns/materialised-views/mark-upkeep.js';
import {
  poisonKey,
  waitingMessages,
} from '../../src/modeling/patterns/transactional-outbox/outbox-row.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

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
const all = { name: 'all' };
const inTotal = 'total_all';
const hour = 3_600_000_000;
const now = () => Date.now() * 1000;

function modelOf(table: TableGateway, clock = manualClock(now())) {
  return openModel({
    table,
    entities: { people: Person, totals: Total },
    keeps: [
      counter({ source: Person, view: Total, keyOf: () => all, measures: { count: () => 1 } }),
    ],
    clock,
  });
}

function upkeepOf(table: TableGateway, hours: number): MarkUpkeep {
  return new MarkUpkeep({ table, outbox: table, clock: manualClock(now() + hours * hour) });
}

async function marksIn(table: TableGateway): Promise<number> {
  const { rows } = await table.page({ partitionKey: inTotal });
  return rows.filter(({ rowKey }) => rowKey.startsWith('~applied_')).length;
}

async function counted(table: TableGateway): Promise<number | undefined> {
  return (await modelOf(table).entities.totals.get(all))?.count;
}

/** The message of the only change, which was counted and is still in the outbox. */
async function countedAndWaiting(): Promise<{ readonly table: TableGateway }> {
  const { gateway: table } = await started.newTable();
  const killed: TableGateway = {
    table: table.table,
    get: (at, select) => table.get(at, select),
    page: (query) => table.page(query),
    write: (write) => (write.kind === 'delete' ? fail() : table.write(write)),
    transact: (writes) =>
      writes.some(({ kind }) => kind === 'delete') ? fail() : table.transact(writes),
  };
  const model = modelOf(killed);
  await model.entities.people.insert({ team: 'a', id: 1 });
  const { unfinished } = await model.drain();
  assert.equal(unfinished.length, 1);
  assert.deepEqual([await counted(table), await marksIn(table)], [1, 1]);
  return { table };
}

function fail(): Promise<never> {
  return Promise.reject(new Error('killed'));
}

describe('marks of counted changes', () => {
  it('are forgotten a day after their messages were found to be gone', async () => {
    const { gateway: table } = await started.newTable();
    const model = modelOf(table);
    for (const id of [1, 2, 3]) await model.entities.people.insert({ team: 'a', id });
    await model.drain();
    for (let rounds = 0; rounds < 3; rounds += 1) await upkeepOf(table, 20).round(inTotal);
    assert.equal(await marksIn(table), 3);
    await upkeepOf(table, 30).round(inTotal);
    // Whoever has read a message before may hold it for another day.
    await upkeepOf(table, 20).round(inTotal);
    assert.equal(await marksIn(table), 3);
    await upkeepOf(table, 30).round(inTotal);
    assert.deepEqual([await counted(table), await marksIn(table)], [3, 0]);
  });

  it('stay while a message waits or is poisoned, so that none counts twice', async () => {
    for (const isPoisoned of [false, true]) {
      const { table } = await countedAndWaiting();
      const [message] = (await table.page(waitingMessages('a'))).rows;
      assert.ok(message !== undefined);
      if (isPoisoned) {
        const { properties, etag } = message;
        await table.transact([
          { kind: 'insert', row: { ...poisonKey(message), properties } },
          { kind: 'delete', key: message, etag },
        ]);
      }
      for (let rounds = 0; rounds < 3; rounds += 1) await upkeepOf(table, 1000).round(inTotal);
      assert.equal(await marksIn(table), 1);
      const model = modelOf(table);
      if (isPoisoned) assert.equal(await model.relay.redrive('a'), 1);
      assert.deepEqual((await model.drain()).unfinished, []);
      assert.equal(await counted(table), 1);
      for (let rounds = 0; rounds < 2; rounds += 1) await upkeepOf(table, 1000).round(inTotal);
      assert.equal(await marksIn(table), 0);
    }
  });

  it('meet a message that a relay has read before it was removed', async () => {
    const { table } = await countedAndWaiting();
    const [message] = (await table.page(waitingMessages('a'))).rows;
    assert.ok(message !== undefined);
    await modelOf(table).drain();
    await upkeepOf(table, 30).round(inTotal);
    for (let rounds = 0; rounds < 3; rounds += 1) await upkeepOf(table, 20).round(inTotal);
    const { partitionKey, rowKey, properties } = message;
    await table.write({ kind: 'insert', row: { partitionKey, rowKey, properties } });
    await modelOf(table).drain();
    assert.equal(await counted(table), 1);
  });

  it('go by themselves as changes are counted', costly(), async () => {
    const { gateway: table } = await started.newTable();
    const model = modelOf(table, manualClock(now() + 30 * hour));
    const make = writesOf(Person, { stamp: false });
    for (let round = 0; round < 4; round += 1) {
      const ids = Array.from({ length: 100 }, (_, index) => round * 100 + index);
      await bulk(
        model.table,
        ids.map((id) => make.insert({ team: 'a', id })),
      );
      await model.drain();
    }
    assert.equal(await counted(table), 400);
    assert.ok((await marksIn(table)) < 400);
  });
});
