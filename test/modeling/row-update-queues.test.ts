import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  ContentionError,
  defineEntity,
  entitiesOf,
  EntityNotFoundError,
  int32,
  key,
  string,
  transaction,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../src/modeling/index.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/index.js';
import { copies, counter, openModel } from '../../src/modeling/model/index.js';
import type { Timers } from '../../src/base/async/timers.js';
import { rowUpdateQueuesOf } from '../../src/modeling/table/row-update-queues.js';
import { impatientTimers } from './support/impatient-timers.js';
import { manualTime } from './support/manual-timers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { costly } from '../support/run-length.js';
import { deferred } from '../../src/base/async/deferred.js';

const Counter = defineEntity({
  type: 'Counter',
  properties: { name: string(), value: int32() },
  partitionKey: () => key`counters`,
  rowKey: (p) => key`${p.name}`,
});
const at = { name: 'a' };
const slowly = async (): Promise<void> => turn();

async function newCounter() {
  const rows = new MemoryRows();
  const table = new MemoryTable(rows, { before: slowly, after: slowly });
  const counters = entitiesOf(Counter, table, { timers: manualTime() });
  await counters.insert({ name: 'a', value: 0 });
  table.requests = 0;
  return { rows, table, counters };
}

const increment = (current: { readonly name: string; readonly value: number }) => ({
  ...current,
  value: current.value + 1,
});

describe('updates of one row in one process', () => {
  it('run in the order of their calls, and read the row once', async () => {
    const { table, counters } = await newCounter();
    const all = Array.from({ length: 200 }, () => counters.update(at, increment));
    const values = (await Promise.all(all)).map(({ value }) => value);
    assert.deepEqual(
      values,
      Array.from({ length: 200 }, (_, index) => index + 1),
    );
    assert.equal(table.requests, 201);
    assert.equal(rowUpdateQueuesOf(table).rows, 0);
  });

  it('lose nothing when another process updates the row as well', async () => {
    const { rows } = await newCounter();
    const timers = impatientTimers;
    const counters = entitiesOf(Counter, new MemoryTable(rows, { after: slowly }), { timers });
    const others = entitiesOf(Counter, new MemoryTable(rows, { before: slowly }), { timers });
    const mine = Array.from({ length: 30 }, () => counters.update(at, increment));
    const theirs = Array.from({ length: 30 }, () => others.update(at, increment));
    await Promise.all([...mine, ...theirs]);
    assert.equal((await counters.get(at))?.value, 60);
  });

  it('decide that nothing is to be done by the row as it is stored', async () => {
    const { rows, counters } = await newCounter();
    const first = counters.update(at, increment);
    const second = counters.update(at, async (current) => {
      if (current.value === 1) {
        const other = entitiesOf(Counter, new MemoryTable(rows));
        await other.upsertReplace({ name: 'a', value: 7 });
      }
      return undefined;
    });
    await first;
    assert.equal((await second).value, 7);
  });

  it('go on after one that fails, and after one that does not end', async () => {
    const { rows } = await newCounter();
    const timers = manualTime();
    const counters = entitiesOf(Counter, new MemoryTable(rows), { timers });
    const failing = counters.update(at, () => Promise.reject(new Error('no')));
    const next = counters.update(at, increment);
    await assert.rejects(failing, /no/);
    assert.equal((await next).value, 1);
    let isFirst = true;
    const nested = counters.update(at, async (current) => {
      const inner = isFirst ? counters.update(at, increment) : undefined;
      isFirst = false;
      await inner;
      return increment(current);
    });
    for (let round = 0; round < 4; round += 1) {
      for (let turns = 0; turns < 5; turns += 1) await turn();
      await timers.pass(1000);
    }
    assert.equal((await nested).value, 3);
  });
});

describe('updates within updates', () => {
  const others = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

  async function newRing() {
    const table = new MemoryTable(new MemoryRows(), { before: slowly, after: slowly });
    const counters = entitiesOf(Counter, table, { timers: slowestTimers });
    for (const { name } of others) await counters.insert({ name, value: 0 });
    const values = async (): Promise<readonly (number | undefined)[]> => {
      const found = await Promise.all(others.map((each) => counters.get(each)));
      return found.map((each) => each?.value);
    };
    return { table, counters, values };
  }

  it('do not wait in a circle for a row that another one holds, however long the circle', async () => {
    for (const count of [2, 3]) {
      const { table, counters, values } = await newRing();
      const ring = others.slice(0, count);
      const changed = ring.map((own, index) => {
        const next = ring[(index + 1) % count] ?? at;
        let isDone = false;
        return counters.update(own, async (current, scope) => {
          for (let turns = 0; turns < 20; turns += 1) await slowly();
          if (!isDone) await counters.update(next, increment, { within: scope });
          isDone = true;
          return increment(current);
        });
      });
      await Promise.all(changed);
      assert.deepEqual(await values(), count === 2 ? [2, 2, 0] : [2, 2, 2]);
      assert.equal(rowUpdateQueuesOf(table).rows, 0);
    }
  });

  it('go on beside the update that they are in, and those that wait for it', async () => {
    const { table, counters, values } = await newRing();
    let isDone = false;
    const first = counters.update(at, async (current, scope) => {
      await slowly();
      const within = { within: scope, timers: slowestTimers };
      if (!isDone) await transaction(table, within).increment(Counter, at, 'value').run();
      isDone = true;
      return increment(current);
    });
    const waiting = Array.from({ length: 5 }, () => counters.update(at, increment));
    await Promise.all([first, ...waiting]);
    assert.deepEqual(await values(), [7, 0, 0]);
  });

  it('wait for others in the queue when these do not wait for them', async () => {
    const { table, counters, values } = await newRing();
    const names = Array.from({ length: 50 }, (_, index) => `new ${index}`);
    for (const name of names) await counters.insert({ name, value: 0 });
    table.requests = 0;
    const all = names.map((name) =>
      counters.update({ name }, async (current, scope) => {
        const { value } = await counters.update(at, increment, { within: scope });
        return { ...current, value };
      }),
    );
    await Promise.all(all);
    // A read and an update of each; one read, and the updates, of the one that all of them change.
    assert.equal(table.requests, 50 * 2 + 51);
    assert.deepEqual(await values(), [50, 0, 0]);
  });
});

const Item = defineEntity({
  type: 'Item',
  properties: { name: string(), id: int32(), label: string().default('') },
  partitionKey: () => key`counters`,
  rowKey: (p) => key`${p.name}_${p.id.padded(4)}`,
});
const everyone = Array.from({ length: 200 }, (_, id) => id);
/** No change waits in vain, and no attempt fails: no time has to pass. */
const timers = manualTime();

async function newTable() {
  const { rows } = await newCounter();
  const table = new MemoryTable(rows, { before: slowly, after: slowly });
  return { rows, table, counters: entitiesOf(Counter, table, { timers }) };
}

describe('transactions that change one row as it is', () => {
  it('run in the order of their calls, and read the row once', async () => {
    const { table, counters } = await newTable();
    const results = everyone.map((id) =>
      transaction(table, { timers })
        .insert(Item, { name: 'item', id })
        .increment(Counter, at, 'value')
        .run(),
    );
    await Promise.all(results);
    assert.equal(table.requests, 201);
    assert.equal((await counters.get(at))?.value, 200);
    assert.equal(rowUpdateQueuesOf(table).rows, 0);
  });

  it('run in one order with its updates, and with transactions of several such rows', async () => {
    const { table, counters } = await newTable();
    await counters.insert({ name: 'b', value: 0 });
    table.requests = 0;
    const [a, b] = [at, { name: 'b' }];
    const both = everyone.map((id) => {
      if (id % 4 === 3) return counters.update(a, increment);
      const [first, second] = id % 2 === 0 ? [a, b] : [b, a];
      return transaction(table, { timers })
        .increment(Counter, first, 'value')
        .increment(Counter, second, 'value')
        .run();
    });
    await Promise.all(both);
    assert.equal(table.requests, 202);
    const values = await Promise.all([a, b].map((each) => counters.get(each)));
    assert.deepEqual(
      values.map((each) => each?.value),
      [200, 150],
    );
  });

  it('decide that nothing is to be done by the row as it is stored', async () => {
    const { rows, table, counters } = await newTable();
    const run = (
      change: (current: { value: number; name: string }) => Promise<undefined | object>,
    ) =>
      transaction(table, { timers })
        .update(Counter, at, async (current) => (await change(current)) as undefined)
        .run();
    const first = run(async (current) => increment(await Promise.resolve(current)));
    const seen: number[] = [];
    const second = run(async ({ value }) => {
      seen.push(value);
      if (value === 1) {
        await entitiesOf(Counter, new MemoryTable(rows)).upsertReplace({ name: 'a', value: 7 });
      }
      return undefined;
    });
    await Promise.all([first, second]);
    assert.deepEqual(seen, [1, 7]);
    assert.equal((await counters.get(at))?.value, 7);
  });

  it('go on after one that fails, and lose nothing beside another process', async () => {
    const { rows, table, counters } = await newTable();
    const nobody = transaction(table, { timers }).increment(Counter, at, 'value');
    nobody.increment(Counter, { name: 'nobody' }, 'value');
    const tables = [table, new MemoryTable(rows, { before: slowly })];
    const all = Array.from({ length: 60 }, (_, id) =>
      transaction(tables[id % 2] ?? table, { timers: impatientTimers })
        .increment(Counter, at, 'value')
        .run(),
    );
    await assert.rejects(nobody.run(), EntityNotFoundError);
    await Promise.all(all);
    assert.equal((await counters.get(at))?.value, 60);
  });

  it('are refused beyond 10,000 of them, before anything is sent', costly(), async () => {
    const { table, counters } = await newTable();
    const { promise: gate, resolve: go } = deferred();
    const row = { partitionKey: 'counters', rowKey: 'a' };
    const waiting = Array.from({ length: 10_000 }, () =>
      rowUpdateQueuesOf(table).run([row], { timers }, async () => {
        await gate;
        return { result: undefined, written: [] };
      }),
    );
    table.requests = 0;
    const refused = transaction(table).increment(Counter, at, 'value');
    await assert.rejects(
      refused.run(),
      (error) => error instanceof ContentionError && /counters/.test(error.message),
    );
    assert.equal(table.requests, 0);
    go();
    await Promise.all(waiting);
    await refused.run();
    assert.equal((await counters.get(at))?.value, 1);
    await assert.rejects(refused.run(), /runs once/);
  });

  it('run once, even while they wait, and again when nothing was sent', async () => {
    const { rows, table, counters } = await newTable();
    const twice = transaction(table, { timers }).increment(Counter, at, 'value');
    await Promise.all([twice.run(), assert.rejects(twice.run(), /runs once/)]);
    const absent = transaction(table, { timers }).increment(Counter, { name: 'new' }, 'value');
    await assert.rejects(absent.run(), EntityNotFoundError);
    await entitiesOf(Counter, new MemoryTable(rows)).insert({ name: 'new', value: 1 });
    await absent.run();
    const values = await Promise.all([at, { name: 'new' }].map((each) => counters.get(each)));
    assert.deepEqual(
      values.map((each) => each?.value),
      [1, 2],
    );
  });
});

describe('writes of one process from which one row follows', () => {
  const Total = defineEntity({
    type: 'Total',
    properties: {
      count: int32().default(0),
      note: int32().default(0),
      label: string().optional(),
    },
    partitionKey: () => key`counters`,
    rowKey: () => key`total`,
  });
  const kept = [
    counter({ source: Item, view: Total, keyOf: () => ({}), measures: { count: () => 1 } }),
    copies({
      source: Total,
      target: Item,
      sourceOf: () => ({}),
      targetsOf: () => [1, 2].map((id) => ({ name: 'item', id })),
      copy: (total) => ({ label: total?.label ?? '' }),
    }),
  ];

  function modelOf(table: TableGateway, keeps = kept.slice(0, 1), time: Timers = timers) {
    return openModel({ table, entities: { items: Item, totals: Total }, keeps, timers: time });
  }

  it('take two requests each, without an attempt that fails', costly(), async () => {
    const { table } = await newTable();
    const failing = failuresOf(table);
    const model = modelOf(failing.table);
    await Promise.all(everyone.map((id) => model.entities.items.insert({ name: 'item', id })));
    assert.equal((await model.entities.totals.get({}))?.count, 200);
    assert.deepEqual([table.requests, failing.count()], [401, 0]);
    const deleted = everyone.map((id) =>
      model.entities.items.delete({ name: 'item', id }, { ifMatch: 'any' }),
    );
    await Promise.all(deleted);
    assert.equal((await model.entities.totals.get({}))?.count, 0);
    assert.deepEqual([failing.count(), rowUpdateQueuesOf(failing.table).rows], [0, 0]);
  });

  it('take one request each when they change the row by name as well', async () => {
    const { table } = await newTable();
    const failing = failuresOf(table);
    const model = modelOf(failing.table);
    await model.entities.totals.insert({});
    table.requests = 0;
    const all = everyone.map((id) =>
      model.transaction().insert(Item, { name: 'item', id }).increment(Total, {}, 'note').run(),
    );
    await Promise.all(all);
    const { count, note } = (await model.entities.totals.get({})) ?? {};
    assert.deepEqual([count, note], [200, 200]);
    assert.deepEqual([table.requests, failing.count()], [202, 0]);
  });

  it('wait in one queue when some change the row by name, and others through derived data', async () => {
    const { table } = await newTable();
    const failing = failuresOf(table);
    const model = modelOf(failing.table);
    await model.entities.totals.insert({});
    const all = everyone.map(async (id) => {
      if (id % 2 === 0) await model.entities.items.insert({ name: 'item', id });
      else {
        await model.entities.totals.update({}, (total) => ({ ...total, note: total.note + 1 }));
      }
    });
    await Promise.all(all);
    const { count, note } = (await model.entities.totals.get({})) ?? {};
    assert.deepEqual([count, note], [100, 100]);
    assert.equal(failing.count(), 0);
  });

  it('do not wait for a row that their own transaction leaves as it is', async () => {
    const { table } = await newTable();
    const model = modelOf(table);
    await model.entities.totals.insert({});
    await model
      .transaction()
      .insert(Item, { name: 'item', id: 1 })
      .update(Total, {}, () => undefined)
      .run();
    assert.equal((await model.entities.totals.get({}))?.count, 1);
  });

  it('do not wait in a circle when source and targets of copies change at once', async () => {
    const { table } = await newTable();
    const model = modelOf(table, kept.slice(1), slowestTimers);
    const { totals, items } = model.entities;
    await totals.insert({ label: 'all' });
    const past = entitiesOf(Item, table);
    for (const id of [1, 2]) await past.insert({ name: 'item', id, label: 'wrong' });
    const changes = [1, 2].map((id) =>
      items.update({ name: 'item', id }, (item) => ({ ...item, label: 'mine' })),
    );
    await Promise.all([
      totals.update({}, (total) => ({ ...total, label: 'every one' })),
      ...changes,
    ]);
    for (const id of [1, 2]) {
      assert.equal((await items.get({ name: 'item', id }))?.label, 'every one');
    }
  });

  it('do not wait in a circle when each of two rows follows from the other', async () => {
    const { table } = await newTable();
    const properties = { own: int32().default(0), other: int32().default(0) };
    const partitionKey = () => key`counters`;
    const Left = defineEntity({ type: 'Left', properties, partitionKey, rowKey: () => key`left` });
    const Right = defineEntity({
      type: 'Right',
      properties,
      partitionKey,
      rowKey: () => key`right`,
    });
    const alike = {
      sourceOf: () => ({}),
      targetsOf: () => [{}],
      copy: (row: { readonly own: number } | undefined) => ({ other: row?.own ?? 0 }),
    };
    const model = openModel({
      table,
      entities: { left: Left, right: Right },
      keeps: [
        copies({ source: Left, target: Right, ...alike }),
        copies({ source: Right, target: Left, ...alike }),
      ],
      timers: slowestTimers,
    });
    const { left, right } = model.entities;
    await left.insert({});
    await right.insert({});
    const all = everyone
      .slice(0, 20)
      .map((id) =>
        (id % 2 === 0 ? left : right).update({}, (row) => ({ ...row, own: row.own + 1 })),
      );
    await Promise.all(all);
    const [leftRow, rightRow] = [await left.get({}), await right.get({})];
    assert.deepEqual([leftRow?.own, leftRow?.other], [10, 10]);
    assert.deepEqual([rightRow?.own, rightRow?.other], [10, 10]);
  });

  it('leave a row as it is only when it is stored so', async () => {
    const { rows, table: past } = await newTable();
    const { promise: committed, resolve: commit } = deferred();
    const { promise: answered, resolve: answer } = deferred();
    const table: TableGateway = {
      table: past.table,
      encrypts: undefined,
      get: (key, select) => past.get(key, select),
      page: (query) => past.page(query),
      write: (write) => past.write(write),
      transact: async (writes) => {
        const results = await past.transact(writes);
        commit();
        await answered;
        return results;
      },
    };
    const { totals, items } = modelOf(table, kept.slice(1)).entities;
    const others = new MemoryTable(rows);
    await entitiesOf(Total, others).insert({ label: 'new' });
    await entitiesOf(Item, others).insert({ name: 'item', id: 1, label: 'wrong' });
    const copied = items.update({ name: 'item', id: 1 }, (item) => ({ ...item, label: 'mine' }));
    await committed;
    // Another process changes both before the answer is there.
    await entitiesOf(Total, others).upsertReplace({ label: 'old' });
    await entitiesOf(Item, others).upsertReplace({ name: 'item', id: 1, label: 'old' });
    const changed = totals.upsertReplace({ label: 'new' });
    for (let turns = 0; turns < 20; turns += 1) await turn();
    answer();
    assert.equal((await copied).label, 'new');
    await changed;
    assert.equal((await totals.get({}))?.label, 'new');
    assert.equal((await items.get({ name: 'item', id: 1 }))?.label, 'new');
  });

  it('hold the source of copies without an attempt that fails', async () => {
    const { table } = await newTable();
    const failing = failuresOf(table);
    const model = modelOf(failing.table, kept.slice(1));
    await model.entities.totals.insert({ label: 'all' });
    await Promise.all(everyone.map((id) => model.entities.items.insert({ name: 'item', id })));
    assert.equal((await model.entities.items.get({ name: 'item', id: 199 }))?.label, 'all');
    assert.equal(failing.count(), 0);
  });

  it('are unconditional, and wait for each other as well', async () => {
    const { table } = await newTable();
    const failing = failuresOf(table);
    const model = modelOf(failing.table);
    await model.entities.items.insert({ name: 'item', id: 1 });
    table.requests = 0;
    const { items } = model.entities;
    await Promise.all(
      everyone.map((id) =>
        items.merge({ name: 'item', id: 1 }, { label: `${id}` }, { ifMatch: 'any' }),
      ),
    );
    assert.deepEqual([table.requests, failing.count()], [400, 0]);
    assert.equal((await items.get({ name: 'item', id: 1 }))?.label, '199');
  });

  it('of children that a relation counts as well', async () => {
    const { table } = await newTable();
    const failing = failuresOf(table);
    const relation = oneToManyOf({
      parent: Total,
      child: Item,
      table: failing.table,
      parentOf: () => ({}),
      count: 'count',
      timers,
    });
    await entitiesOf(Total, table).insert({});
    table.requests = 0;
    await Promise.all(everyone.map((id) => relation.add({ name: 'item', id })));
    assert.deepEqual([table.requests, failing.count()], [201, 0]);
  });
});

/** Pauses after conflicts end at once; a wait of a second never does. */
const slowestTimers: Timers = {
  start: (delayMs, callback, argument) =>
    delayMs < 1000
      ? impatientTimers.start(delayMs, callback, argument)
      : { close: () => undefined },
};

/** The table, and the number of its writes that were refused. */
function failuresOf(table: TableGateway) {
  let failed = 0;
  const counted = async <T>(run: Promise<T>): Promise<T> => {
    try {
      return await run;
    } catch (error) {
      failed += 1;
      throw error;
    }
  };
  const counting: TableGateway = {
    table: table.table,
    get: (...args) => table.get(...args),
    page: (query) => table.page(query),
    write: (write: RowWrite): Promise<WriteResult> => counted(table.write(write)),
    transact: (writes) => counted(table.transact(writes)),
  };
  return { table: counting, count: () => failed };
}
