import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock, systemClock } from '../../src/base/clock.js';
import {
  bulk,
  dateTime,
  defineEntity,
  entitiesOf,
  Instant,
  instant,
  int32,
  int64,
  key,
  openTable,
  string,
  writesOf,
  type TableGateway,
} from '../../src/modeling/index.js';
import { changeFeedOf } from '../../src/modeling/patterns/change-feed/change-feed.js';
import { consumerGroupOf } from '../../src/modeling/patterns/change-feed/consumer-group.js';
import { trimFeed } from '../../src/modeling/patterns/change-feed/retention.js';
import { feedSinkOf } from '../../src/modeling/patterns/change-feed/sequencer.js';
import { timeBucketsOf } from '../../src/modeling/patterns/high-volume-delete/time-buckets.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/large-table.js';
import { verifyLargeValues } from '../../src/modeling/patterns/large-entities/verify.js';
import { logTailOf } from '../../src/modeling/patterns/log-tail.js';
import { partitionViewOf } from '../../src/modeling/patterns/materialised-views/partition-view.js';
import { shardedCounterOf } from '../../src/modeling/patterns/materialised-views/sharded-counter.js';
import { referenceDataOf } from '../../src/modeling/patterns/reference-data.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/one-to-many.js';
import { outboxOf } from '../../src/modeling/patterns/transactional-outbox/outbox.js';
import { tableRegistryOf } from '../../src/modeling/patterns/transactional-outbox/registry.js';
import { relayOf } from '../../src/modeling/patterns/transactional-outbox/relay.js';
import { defineWideEntity } from '../../src/modeling/patterns/wide-entities/wide-definition.js';
import { wideEntitiesOf } from '../../src/modeling/patterns/wide-entities/wide-entities.js';
import { openAccountTables } from '../../src/modeling/table/account-tables.js';
import { sampled, costly } from '../support/run-length.js';
import { keyPayload } from '../../src/modeling/worker/entity-payload.js';
import { defineMessage } from '../../src/modeling/worker/message-type.js';
import { Employee } from './support/employees.js';
import {
  allRows,
  assertInStep,
  drain,
  driftsOf,
  employee,
  openEmployees,
} from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';
import { regionalDepartmentOf, RegionalDepartment, RegionalEmployee } from './support/regions.js';

// Patterns that read several rows, against a service with pages of every legal shape.

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

const Claim = defineEntity({
  type: 'Claim',
  properties: { employee: string(), at: instant(), id: string(), amount: int32() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`${p.at.descending()}_${p.id}`,
});
const Counts = defineWideEntity({
  type: 'Counts',
  keys: { user: string() },
  partitionKey: (p) => key`${p.user}`,
  rowKey: () => key`counts`,
  groups: { a: { one: int32() }, b: { two: int32() }, c: { three: int32() }, d: { four: int32() } },
});
const Total = defineEntity({
  type: 'Total',
  properties: { region: string(), department: string(), workers: int32().default(0) },
  partitionKey: (p) => key`${p.region}`,
  rowKey: (p) => key`total_${p.department}`,
});
const Shard = defineEntity({
  type: 'Shard',
  properties: { page: string(), shard: int32(), count: int64().default(0n) },
  partitionKey: (p) => key`${p.page}`,
  rowKey: (p) => key`shard_${p.shard.padded(2)}`,
});
const Attempt = defineEntity({
  type: 'Attempt',
  properties: { user: string(), at: dateTime(), number: int32() },
  partitionKey: (p) => key`${p.user}`,
  rowKey: (p) => key`${p.number.padded(4)}`,
});
const Changed = defineMessage('changed', { payload: keyPayload(Employee) });

for (const seed of sampled(['1', '2'], 1)) {
  const tables = await startTables({ pagingTestMode: { seed } });
  after(() => tables[Symbol.asyncDispose]());
  const newGateway = async (): Promise<TableGateway> => (await tables.newTable()).gateway;

  async function newEmployees() {
    const [table, town, firstName] = [await newGateway(), await newGateway(), await newGateway()];
    const places = { table, town, firstName };
    return { places, employees: openEmployees(places) };
  }

  const newEmployee = (id: number) =>
    employee(id, {
      firstName: `F${id % 3}`,
      lastName: id % 5 === 0 ? 'Smith' : 'Jones',
      town: 'T',
    });

  describe(`the patterns with pages of every shape, seed ${seed}`, () => {
    it(
      'hand every message of an outbox into a feed, which is read to its end',
      costly(),
      async () => {
        const table = await newGateway();
        const registry = tableRegistryOf(await newGateway(), table.table);
        const outbox = outboxOf({ table, registry });
        const partitions = ['Labs', 'Sales', 'Staff'];
        for (const partition of partitions) {
          for (let id = 1; id <= 30; id += 6) {
            const messages = await Promise.all(
              [0, 1, 2, 3, 4, 5].map((more) => {
                const given = { department: partition, id: id + more };
                return outbox.message(partition, Changed, given, { id: `${id + more}` });
              }),
            );
            await outbox.transact([], messages);
          }
        }
        const sink = feedSinkOf(table, { messages: [Changed] });
        const { dispatched } = await relayOf({ table, registry, sink }).sweep();
        assert.equal(dispatched, 90);
        const feed = changeFeedOf(table);
        for (const partition of partitions) {
          const seen: number[] = [];
          await consumerGroupOf(feed, 'mailer').consume(
            partition,
            ({ sequence }) => Promise.resolve(void seen.push(Number(sequence))),
            { limit: 7 },
          );
          assert.deepEqual(seen, upTo(30));
          const clock = manualClock(systemClock.nowMicros() + 86_400_000_000);
          assert.equal(await trimFeed(feed, partition, { keepMs: 1000, clock, max: 20 }), 20);
          assert.equal((await feed.read(partition)).events[0]?.sequence, 21n);
        }
      },
    );

    it('fill an index, list its entities, and find and mend what drifted', costly(), async () => {
      const { places, employees } = await newEmployees();
      const plain = entitiesOf(Employee, places.table);
      for (const id of upTo(15)) await plain.insert(newEmployee(id));
      for (const name of ['email', 'lastName', 'company', 'town', 'firstName'] as const) {
        for await (const { drifts } of employees.backfill(name, { pageRows: 9 })) {
          assert.deepEqual(drifts, []);
        }
      }
      await assertInStep(employees);
      const smiths = await employees.by.lastName.keys({ department: 'Sales', lastName: 'Smith' });
      assert.deepEqual(
        smiths.map(({ id }) => id),
        [5, 10, 15],
      );
      const jones = employees.by.lastName.entities({ department: 'Sales', lastName: 'Jones' });
      const ids: number[] = [];
      for await (const { id } of jones) ids.push(id);
      assert.deepEqual(
        ids,
        upTo(15).filter((id) => id % 5 !== 0),
      );
      for (const row of (await allRows(places.town)).slice(3, 9)) {
        await places.town.write({ kind: 'delete', key: row, etag: '*' });
      }
      assert.equal((await driftsOf(employees.verify({ pageRows: 4 }))).length, 6);
      let repaired = 0;
      for await (const page of employees.rebuild({ pageRows: 6 })) repaired += page.repaired;
      assert.equal(repaired, 6);
      await assertInStep(employees);
    });

    it('keep indexes in step while entities change and go', costly(), async () => {
      const { places, employees } = await newEmployees();
      for (const id of upTo(15)) await employees.insert(newEmployee(id));
      for (const id of [1, 5, 9]) {
        const change = { lastName: 'Brown', town: 'U' };
        await employees.merge({ department: 'Sales', id }, change, { ifMatch: 'any' });
      }
      for (const id of [2, 10]) await employees.deleteIfExists({ department: 'Sales', id });
      await drain(places, employees);
      await assertInStep(employees);
      assert.equal((await allRows(places.town)).length, 13);
    });

    it('give the latest entries of a log', async () => {
      const clock = manualClock(Date.UTC(2024, 0, 1) * 1000);
      const claims = logTailOf(Claim, await newGateway(), { time: 'at', id: 'id', clock });
      for (const amount of upTo(30)) {
        await claims.append({ employee: 'jones', amount });
        clock.advanceMicros(1_000_000);
      }
      for (const count of [1, 10, 40]) {
        const latest = await claims.latest({ employee: 'jones' }, count);
        assert.deepEqual(
          latest.map(({ amount }) => amount),
          upTo(30).toReversed().slice(0, count),
        );
      }
    });

    it('read and drop buckets of time', costly(), async () => {
      const clock = manualClock(Date.UTC(2014, 6, 1) * 1000);
      const set = { prefix: `Log${seed}x`, period: 'day', retention: { days: 60 } } as const;
      const buckets = timeBucketsOf({
        set,
        tables: openAccountTables(tables.service),
        open: (name) => openTable(tables.clientOf(name)),
        clock,
      });
      const expected: string[] = [];
      for (const number of upTo(40)) {
        const time = Instant.ofDate(new Date(clock.nowMicros() / 1000));
        const row = { user: 'jones', at: time.toDate(), number };
        const write = writesOf(Attempt, { stamp: false }).insert(row);
        await buckets.at(time).write(write);
        expected.push(String(number).padStart(4, '0'));
        clock.advanceMicros(86_400_000_000 / 8);
      }
      const whole = { from: Instant.parse('2014-01-01'), to: Instant.parse('2015-01-01') };
      const found: string[] = [];
      for await (const { rowKey } of buckets.rows(whole)) found.push(rowKey);
      assert.deepEqual(found, expected);
      const paged: string[] = [];
      let cursor: string | undefined;
      do {
        const from = cursor === undefined ? {} : { cursor };
        const page = await buckets.page({ ...whole, limit: 3, ...from });
        paged.push(...page.rows.map(({ rowKey }) => rowKey));
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(paged, expected);
      clock.advanceMicros(70 * 86_400_000_000);
      await buckets.rotate({ ahead: 0 });
      assert.deepEqual(
        (await buckets.list()).filter(({ from }) => from < Instant.parse('2014-08-01').ticks),
        [],
      );
    });

    it('put the rows of wide and of large entities together', costly(), async () => {
      const wide = wideEntitiesOf(Counts, await newGateway());
      for (const user of ['a', 'b', 'c']) {
        await wide.insert({ user, one: 1, two: 2, three: 3, four: 4 });
        const found = await wide.get({ user });
        assert.deepEqual([found?.one, found?.two, found?.three, found?.four], [1, 2, 3, 4]);
      }
      const table = await newGateway();
      const large = withLargeValues(table, { compression: 'identity' });
      const value = new Uint8Array(1_200_000).fill(7);
      for (const rowKey of ['1', '2', '3']) {
        const properties = { V: { type: 'Binary', value } } as const;
        const row = { partitionKey: 'p', rowKey, properties };
        await large.write({ kind: 'insert', row });
        const read = (await large.get(row))?.properties['V'];
        assert.ok(read?.type === 'Binary' && Buffer.from(value).equals(read.value));
      }
      const all = await allRows(large);
      assert.deepEqual(
        all.map(({ rowKey, properties }) => [rowKey, properties['V']?.type]),
        [
          ['1', 'Binary'],
          ['2', 'Binary'],
          ['3', 'Binary'],
        ],
      );
      await table.write({ kind: 'delete', key: { partitionKey: 'p', rowKey: '2' }, etag: '*' });
      const report = await verifyLargeValues(large, { repair: true });
      assert.equal(report.entities, 2);
      assert.ok(report.abandonedRows.length > 0);
      assert.deepEqual((await verifyLargeValues(large)).abandonedRows, []);
    });

    it('count children, summarise partitions and add up shards', costly(), async () => {
      const table = await newGateway();
      const given = {
        parent: RegionalDepartment,
        child: RegionalEmployee,
        table,
        parentOf: regionalDepartmentOf,
      } as const;
      const relation = oneToManyOf({ ...given, count: 'employees' });
      const view = partitionViewOf({
        source: RegionalEmployee,
        view: Total,
        table,
        keyOf: ({ region, department }) => ({ region, department }),
        measures: { workers: () => 1 },
      });
      await entitiesOf(RegionalDepartment, table).insert({
        region: 'East',
        name: 'Sales',
        employees: 3,
      });
      for (const id of upTo(25)) {
        await entitiesOf(RegionalEmployee, table).insert({
          region: 'East',
          department: 'Sales',
          id,
        });
      }
      assert.equal(await relation.recount({ region: 'East', name: 'Sales' }), 25);
      assert.equal((await view.rebuild({ region: 'East' })).length, 1);
      assert.deepEqual(await view.verify({ region: 'East' }), []);
      const total = await view.read({ region: 'East', department: 'Sales' });
      assert.equal(total?.workers, 25);
      const shards = await newGateway();
      const counter = shardedCounterOf(Shard, shards, {
        shard: 'shard',
        shards: 16,
        measures: ['count'],
      });
      for (const _ of upTo(40)) await counter.add({ page: '/' }, { count: 1n });
      assert.deepEqual(await counter.read({ page: '/' }), { count: 40n });
    });

    it('load reference data, and know the rows of a bulk that is run again', async () => {
      const table = await newGateway();
      const rows = upTo(250).map((id) => ({ region: 'East', department: 'Sales', id }));
      const write = writesOf(RegionalEmployee, { stamp: false });
      const inserts = rows.map((row) => write.insert(row));
      assert.equal((await bulk(table, inserts)).applied, 250);
      const again = await bulk(table, inserts);
      assert.deepEqual([again.applied, again.unchanged, again.failed], [0, 250, 0]);
      const workers = referenceDataOf({
        load: () => entitiesOf(RegionalEmployee, table).scanTable().toArray({ max: 1000 }),
        keyOf: ({ id }) => id,
        ttlMs: 60_000,
      });
      assert.deepEqual(
        (await workers.all()).map(({ id }) => id),
        upTo(250),
      );
    });
  });
}
