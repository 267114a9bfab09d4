import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemTimers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { withPartitionRule } from '../../src/kv/partition-rule.js';
import { encodeTuple, prefixRange } from '../../src/kv/tuple.js';
import { propertyBagOf } from '../../src/model/bag/bag.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { verify } from '../../src/partition/verify.js';
import type { MoveStep } from '../../src/partition/rows.js';
import { TableService } from '../../src/services/tables/table-service.js';
import { admitted, membersOf, operationsOver } from './composed-stores.js';

const [account, table] = ['account', 'gone'];
const partitions = ['a', 'b', 'c'];
const rowsEach = 40;
/** Longer than names of deleted tables are kept. */
const hourMicros = 3_600_000_000;
const whole = { limit: 10_000, bytesMax: 1 << 30 } as const;

/** A table in one range, of which the process that moves it dies where a step begins. */
async function world(step: MoveStep) {
  const clock = manualClock();
  const stores = [await openMemoryStore({ clock }), await openMemoryStore({ clock })];
  const members = await admitted(membersOf(stores));
  const options = { members, clock, timers: systemTimers, randomness: systemRandomness };
  const service = new TableService({
    store: withPartitionRule(await openPartitionedStore(options)),
    clock,
  });
  await service.createTable(account, table);
  for (const partitionKey of partitions) {
    for (let row = 0; row < rowsEach; row += 1) {
      const entity = { partitionKey, rowKey: String(row), properties: propertyBagOf([]) };
      await service.write(account, table, { kind: 'insert', entity });
    }
  }
  const catalogue = new Catalogue(members.home);
  const operations = operationsOver(members, clock);
  const at = encodeTuple(['table', account, 1]);
  const { id } = (await catalogue.map()).at(at);
  const cut = await operations.beginSplit(id, at);
  assert.ok(cut.ok);
  await operations.carryOut(cut.operation);
  const begun = await operations.beginMove((await catalogue.map()).at(at).id, 's1');
  assert.ok(begun.ok);
  const died = new Error('died');
  const onStep = (reached: MoveStep) => {
    if (reached === step) throw died;
  };
  await assert.rejects(operationsOver(members, clock, { onStep }).carryOut(begun.operation), died);
  /** How many keys of the table each store has. */
  const counts = () =>
    Promise.all(
      stores.map(async (store) => (await store.range(prefixRange(at), whole)).entries.length),
    );
  const carryOut = () => operations.carryOut(begun.operation);
  const findings = () => verify({ catalogue, members, clock, timers: systemTimers });
  return { clock, service, counts, carryOut, findings };
}

const all = partitions.length * rowsEach;

void describe('a table that is dropped while its range moves', () => {
  for (const [step, before] of [
    ['copy', [all, 0]],
    ['catch up', [all, all]],
    ['fence', [all, all]],
    ['clean', [all, all]],
  ] as const) {
    void it(`is freed in both stores, of a move that stopped before '${step}'`, async () => {
      const { clock, service, counts, carryOut, findings } = await world(step);
      assert.deepEqual(await counts(), before);
      await service.deleteTable(account, table);
      clock.advanceMicros(hourMicros);
      // A part is freed before the move goes on, and the rest behind it.
      let freed = 0;
      while (freed < rowsEach) freed += (await service.reclaim({ entriesMax: 7 })).deleted;
      assert.ok(freed < all);
      await carryOut();
      assert.deepEqual(await counts(), [0, all - freed]);
      while ((await service.reclaim({ entriesMax: 100 })).more);
      assert.deepEqual(await counts(), [0, 0]);
      assert.deepEqual(await findings(), []);
    });
  }
});
