import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { defineEntity, entitiesOf, int32, key, string } from '../../src/modeling/index.js';
import { updateLinesOf } from '../../src/modeling/table/update-lines.js';
import { impatientTimers } from './support/impatient-timers.js';
import { manualTime } from './support/manual-timers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';

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
    assert.equal(updateLinesOf(table).rows, 0);
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
