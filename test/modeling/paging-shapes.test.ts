import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  bulk,
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  writesOf,
  type TableGateway,
} from '../../src/modeling/index.js';
import { deleteWhere } from '../../src/modeling/patterns/high-volume-delete/delete-where.js';
import { openSpreadEntities } from '../../src/modeling/patterns/spread-keys.js';
import {
  allRows,
  assertInStep,
  drain,
  driftsOf,
  employee,
  openEmployees,
} from './support/indexed-employees.js';
import { costly, sampled } from '../support/run-length.js';
import { startTables } from './support/observed-tables.js';

// The library against a service with pages of every legal shape: it must read every row once.

const Reading = defineEntity({
  type: 'Reading',
  properties: { device: int32(), at: int32(), text: string() },
  partitionKey: (p) => key`${p.device.padded(2)}`,
  rowKey: (p) => key`${p.at.padded(4)}`,
});
const Event = defineEntity({
  type: 'Event',
  properties: { bucket: int32(), source: string(), at: int32() },
  partitionKey: (p) => key`${p.bucket.padded(2)}_${p.source}`,
  rowKey: (p) => key`${p.at.padded(4)}`,
});
const devices = [0, 1, 2, 3, 4];
const times = Array.from({ length: 26 }, (_, at) => at);
const readings = devices.flatMap((device) =>
  times.map((at) => ({ device, at, text: at % 3 === 0 ? 'third' : 'other' })),
);

type Place = Pick<(typeof readings)[number], 'device' | 'at'>;

const nameOf = ({ device, at }: Place): string => `${device}/${at}`;
const names = (found: readonly Place[]): string[] => found.map(nameOf);
const byTime = (found: readonly Place[]): Place[] =>
  [...found].sort((left, right) => left.at - right.at || left.device - right.device);

for (const seed of sampled(['1', '2'], 1)) {
  const tables = await startTables({ pagingTestMode: { seed } });
  after(() => tables[Symbol.asyncDispose]());

  const filled = async (): Promise<TableGateway> => {
    const { gateway } = await tables.newTable();
    const write = writesOf(Reading, { stamp: false });
    const report = await bulk(
      gateway,
      readings.map((reading) => write.insert(reading)),
    );
    assert.equal(report.applied, readings.length);
    return gateway;
  };

  describe(`the library with pages of every shape, seed ${seed}`, () => {
    it('reads partitions, ranges and tables to their end', async () => {
      const open = entitiesOf(Reading, await filled());
      const partition = { device: 2 };
      const own = readings.filter(({ device }) => device === 2);
      const all = { max: readings.length };
      assert.deepEqual(names(await open.query({ partition }).toArray(all)), names(own));
      const bounds = { rowKeyFrom: { at: 4 }, rowKeyBefore: { at: 21 } };
      const within = own.filter(({ at }) => at >= 4 && at < 21);
      assert.deepEqual(
        names(await open.query({ partition, ...bounds }).toArray(all)),
        names(within),
      );
      assert.deepEqual(names(await open.scanTable().toArray(all)), names(readings));
      for (const count of [1, 2, 7, 25, 27]) {
        assert.deepEqual(
          names(await open.query({ partition }).first(count)),
          names(own.slice(0, count)),
        );
      }
    });

    it('goes on from the cursor of any page', costly(), async () => {
      const open = entitiesOf(Reading, await filled());
      for (const limit of [1, 4, 1000]) {
        const found: string[] = [];
        let cursor: string | undefined;
        do {
          // A new query, as in another process.
          const query = open.scanTable();
          const page = await query.page({ limit, ...(cursor === undefined ? {} : { cursor }) });
          assert.ok(page.items.length <= limit);
          found.push(...names(page.items));
          cursor = page.cursor;
        } while (cursor !== undefined);
        assert.deepEqual(found, names(readings));
      }
    });

    it('merges partitions in either order', costly(), async () => {
      const open = entitiesOf(Reading, await filled());
      const partitions = devices.map((device) => ({ device }));
      const orders = [
        ['key', readings],
        ['row-key', byTime(readings)],
      ] as const;
      for (const [order, expected] of orders) {
        const query = () => open.queryPartitions({ partitions, order, concurrency: 2 });
        const found = await query().toArray({ max: readings.length });
        assert.deepEqual(names(found), names(expected));
        const paged: Place[] = [];
        let cursor: string | undefined;
        do {
          const given = cursor === undefined ? {} : { cursor };
          const page = await query().page({ limit: 7, ...given });
          paged.push(...page.items);
          cursor = page.cursor;
        } while (cursor !== undefined);
        assert.deepEqual(names(paged), names(expected));
      }
    });

    it('reads many rows by their keys', async () => {
      const open = entitiesOf(Reading, await filled());
      const keys = readings.toReversed().map(({ device, at }) => ({ device, at }));
      const found = await open.getMany([...keys, { device: 9, at: 9 }]);
      assert.deepEqual(
        found.map((entity) => entity && nameOf(entity)),
        [...names(keys), undefined],
      );
    });

    it('reads spread rows in one order', async () => {
      const { gateway } = await tables.newTable();
      const events = await openSpreadEntities(Event, gateway, { bucket: 'bucket', buckets: 4 });
      for (const at of times) await events.insert({ source: 'shop', at });
      const query = events.query({ partition: { source: 'shop' } });
      const found = await query.toArray({ max: times.length });
      assert.deepEqual(
        found.map(({ at }) => at),
        times,
      );
    });

    it('deletes what it is told to, and nothing else', async () => {
      const gateway = await filled();
      const rowKeys = { from: '0005', before: '0025' };
      const inRange = await deleteWhere(gateway, { partitionKey: '01', rowKeys });
      assert.equal(inRange.deleted, 20);
      const thirds = await deleteWhere(gateway, { partitionKey: '02', filter: "text eq 'third'" });
      assert.equal(thirds.deleted, 9);
      const kept = readings.filter(
        ({ device, at, text }) =>
          !(device === 1 && at >= 5 && at < 25) && !(device === 2 && text === 'third'),
      );
      const open = entitiesOf(Reading, gateway);
      assert.deepEqual(names(await open.scanTable().toArray({ max: 200 })), names(kept));
    });

    it('keeps indexes in step, verifies them and finds what drifted', costly(), async () => {
      const [main, town, first] = [
        await tables.newTable(),
        await tables.newTable(),
        await tables.newTable(),
      ];
      const places = { table: main.gateway, town: town.gateway, firstName: first.gateway };
      const employees = openEmployees(places);
      for (let id = 0; id < 12; id += 1) {
        const lastName = id % 2 === 0 ? 'Jones' : 'Smith';
        await employees.insert(employee(id, { lastName, firstName: `F${id % 3}`, town: 'Town' }));
      }
      await drain(places, employees);
      await assertInStep(employees);
      assert.equal((await allRows(town.gateway)).length, 12);
      const [lost] = await allRows(town.gateway);
      assert.ok(lost);
      await town.gateway.write({ kind: 'delete', key: lost, etag: '*' });
      const drifts = await driftsOf(employees.verify());
      assert.deepEqual(
        drifts.map(({ kind, index }) => `${kind} ${index}`),
        ['missing town'],
      );
    });
  });
}
