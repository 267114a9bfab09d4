import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness, type Randomness } from '../../src/base/randomness.js';
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
import {
  MarkUpkeep,
  markProperties,
} from '../../src/modeling/patterns/materialised-views/mark-upkeep.js';
import {
  poisonKey,
  waitingMessages,
} from '../../src/modeling/patterns/transactional-outbox/outbox-row.js';
import { hash32 } from '../../src/placement/hashes/text-hash.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
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

function modelOf(
  table: TableGateway,
  clock = manualClock(now()),
  randomness: Randomness = systemRandomness,
) {
  return openModel({
    table,
    entities: { people: Person, totals: Total },
    keeps: [
      counter({ source: Person, view: Total, keyOf: () => all, measures: { count: () => 1 } }),
    ],
    clock,
    randomness,
  });
}

/** The ids of messages decide about rounds. */
function numberedIds(): Randomness {
  let ids = 0;
  return { ...systemRandomness, uuid: () => `message-${(ids += 1)}` };
}

function upkeepOf(table: TableGateway, hours: number): MarkUpkeep {
  return new MarkUpkeep({ table, outbox: table, clock: manualClock(now() + hours * hour) });
}

/** Where the mark of an event is, and where its message was. */
interface Place {
  readonly summary: string;
  readonly outbox: string;
}

const eventsOfDay = 300;

/**
 * Applies so many events a day to each summary, for ten days, and tells how many marks are left of
 * each.
 */
async function marksAfterTenDays(
  placeOf: (event: number) => Place,
  summaries: number,
): Promise<ReadonlyMap<string, number>> {
  const perDay = eventsOfDay * summaries;
  const clock = manualClock(now());
  const table = new MemoryTable(new MemoryRows(() => clock.nowMicros()));
  // Every message was handled.
  const outboxes = new MemoryTable(new MemoryRows());
  const upkeep = new MarkUpkeep({ table, outbox: outboxes, clock });
  for (let event = 0; event < 10 * perDay; event += 1) {
    const { summary, outbox } = placeOf(event);
    const id = `event-${hash32(String(event))}-${event}`;
    const row = { partitionKey: summary, rowKey: `~applied_${id}` };
    await table.write({
      kind: 'insert',
      row: { ...row, properties: markProperties(outbox) },
    });
    await upkeep.applied(summary, id);
    clock.advanceMicros((24 * hour) / perDay);
  }
  const left = new Map<string, number>();
  for (const { partitionKey } of table.rows.all) {
    left.set(partitionKey, (left.get(partitionKey) ?? 0) + 1);
  }
  return left;
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

  it('stay while a message waits or is poisoned, so that none counts twice', costly(), async () => {
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

  it('are forgotten beside a poison message that nobody can read', async () => {
    const { table } = await countedAndWaiting();
    const [message] = (await table.page(waitingMessages('a'))).rows;
    assert.ok(message !== undefined);
    const properties = { Message: { type: 'String', value: 'x' } } as const;
    await table.write({ kind: 'insert', row: { ...poisonKey(message), properties } });
    assert.deepEqual((await modelOf(table).drain()).unfinished, []);
    for (let rounds = 0; rounds < 2; rounds += 1) await upkeepOf(table, 1000).round(inTotal);
    assert.deepEqual([await counted(table), await marksIn(table)], [1, 0]);
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

  for (const [how, placeOf, summaries] of [
    ['of one outbox', () => ({ summary: 'all', outbox: 'a' }), 1],
    ['each of an outbox of its own', (event) => ({ summary: 'all', outbox: `o${event}` }), 1],
    ['of summaries that take turns', (event) => ({ summary: `s${event % 2}`, outbox: 'a' }), 2],
  ] satisfies readonly [string, (event: number) => Place, number][]) {
    it(`stay those of some two days at a constant load, ${how}`, costly(), async () => {
      const left = await marksAfterTenDays(placeOf, summaries);
      assert.equal(left.size, summaries);
      for (const [summary, marks] of left) {
        assert.ok(marks <= 3 * eventsOfDay, `${marks} of ${summary}: ${marks / eventsOfDay} days`);
      }
    });
  }

  it('go by themselves as changes are counted', costly(), async () => {
    const { gateway: table } = await started.newTable();
    const model = modelOf(table, manualClock(now() + 30 * hour), numberedIds());
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
