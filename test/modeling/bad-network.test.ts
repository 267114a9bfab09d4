import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bulk, int32, key, string, writesOf, type TableGateway } from '../../src/modeling/index.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import {
  changeFeed,
  changeFeedOf,
  consumerGroupOf,
  RowsChangedMessage,
  payloadOf,
  trimFeed,
  type FeedEvent,
} from '../../src/modeling/patterns/change-feed/index.js';
import { relocated, reKeyingOf } from '../../src/modeling/patterns/re-keying/index.js';
import {
  hashRouting,
  moveShard,
  shardedEntitiesOf,
  shardMapOf,
  type ShardMap,
} from '../../src/modeling/patterns/shard-map/index.js';
import { knownPartitions } from '../../src/modeling/patterns/transactional-outbox/index.js';
import {
  defineWideEntity,
  wideEntitiesOf,
} from '../../src/modeling/patterns/wide-entities/index.js';
import { onBadNetworks, Tally, tries, type BadProcess } from './support/bad-network.js';
import { impatientTimers } from './support/impatient-timers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { regionalDepartmentOf, RegionalDepartment, RegionalEmployee } from './support/regions.js';

// Several processes on a bad network, with odd keys: what was acknowledged is there, once, and
// nothing else is. The short form has the same few seeds in each run.

const rounds = { short: 4, long: 100 };

const Review = defineWideEntity({
  type: 'Review',
  keys: { region: string(), id: string() },
  partitionKey: (p) => key`${p.region}`,
  rowKey: (p) => key`REVIEW_${p.id}_`,
  groups: { '01': { plan: int32().default(0) }, '02': { result: int32().default(0) } },
});

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const relationOf = (table: TableGateway) =>
  oneToManyOf({
    parent: RegionalDepartment,
    child: RegionalEmployee,
    table,
    parentOf: regionalDepartmentOf,
    count: 'employees',
    timers: impatientTimers,
  });

describe('on a bad network', () => {
  it('children that move are in one place, and their parents count them', () =>
    onBadNetworks(rounds, async (network) => {
      const rows = new MemoryRows();
      const [regions, names] = [network.pair(), network.pair()];
      const relation = relationOf(new MemoryTable(rows));
      for (const region of regions)
        for (const name of names) await relation.parents.insert({ region, name });
      const ids = [1, 2, 3, 4];
      for (const id of ids)
        await relation.add({
          region: network.random.pick(regions),
          department: network.random.pick(names),
          id,
        });
      const moving = (process: BadProcess) => {
        const own = relationOf(process.table(rows));
        return process.untilDeath(() =>
          tries(8, async () => {
            const region = network.random.pick(regions);
            const here = await collected(own.children.query({ partition: { region } }));
            if (network.random.chance(0.3)) await own.finishMoves({ region });
            if (here.length === 0) return;
            const child = network.random.pick(here);
            const [to, department] = [network.random.pick(regions), network.random.pick(names)];
            await own.move(child, { ...child, region: to, department });
          }),
        );
      };
      await Promise.all([moving(network.start()), moving(network.start())]);
      await moving(network.start());
      await network.mend();
      for (const region of regions) {
        assert.deepEqual((await relation.finishMoves({ region })).stuck, []);
      }
      const queries = regions.map((region) => relation.children.query({ partition: { region } }));
      const children = (await Promise.all(queries.map(collected))).flat();
      const found = children.map(({ id }) => id).sort((left, right) => left - right);
      assert.deepEqual(found, ids);
      for (const region of regions) {
        for (const name of names) {
          const parent = await relation.parents.get({ region, name });
          const counted = children.filter(
            (child) => child.region === region && child.department === name,
          );
          assert.equal(parent?.employees, counted.length);
        }
      }
    }));

  it('numbers in two rows grow together, once for each change', () =>
    onBadNetworks(rounds, async (network) => {
      const rows = new MemoryRows();
      const [region, id] = [
        network.random.pick(network.pair()),
        network.random.pick(network.pair()),
      ];
      const reviews = wideEntitiesOf(Review, new MemoryTable(rows));
      await reviews.insert({ region, id });
      const tally = new Tally();
      const adding = (process: BadProcess) => {
        const table = process.table(rows);
        const own = wideEntitiesOf(Review, table, { timers: impatientTimers });
        const add = () =>
          own.update({ region, id }, (each) => ({
            ...each,
            plan: each.plan + 1,
            result: each.result + 1,
          }));
        return process.untilDeath(() => tries(8, () => tally.add(add)));
      };
      await Promise.all([adding(network.start()), adding(network.start())]);
      await network.mend();
      const found = await reviews.get({ region, id });
      assert.equal(tally.fault(found?.plan), undefined);
      assert.equal(found?.result, found?.plan);
    }));

  it('readers of a feed that is trimmed see every change', () =>
    onBadNetworks(rounds, async (network) => {
      const rows = new MemoryRows();
      const partitionKey = network.random.pick(network.pair());
      const partsOf = (table: TableGateway) => {
        const registry = knownPartitions([partitionKey]);
        const model = openModel({ table, registry, entities: {}, keeps: [changeFeed()] });
        return { announcing: model.table, relay: model.relay, feed: changeFeedOf(table) };
      };
      let count = 0;
      const writing = (process: BadProcess) => {
        const { announcing, relay } = partsOf(process.table(rows));
        return process.untilDeath(() =>
          tries(8, async () => {
            const row = { partitionKey, rowKey: `row${(count += 1)}`, properties: {} };
            await announcing.write({ kind: 'insert', row });
            if (network.random.chance(0.5)) await relay.partition(partitionKey);
          }),
        );
      };
      const events: FeedEvent[] = [];
      const handle = async (event: FeedEvent): Promise<void> => {
        await Promise.resolve();
        events.push(event);
      };
      const reading = (process: BadProcess) => {
        const { feed } = partsOf(process.table(rows));
        return process.untilDeath(() =>
          tries(6, async () => {
            await consumerGroupOf(feed, 'mailer').consume(partitionKey, handle, { limit: 3 });
            await trimFeed(feed, partitionKey, { keepMs: -1e9 });
          }),
        );
      };
      const all = [writing, writing, reading, reading].map((work) => work(network.start()));
      await Promise.all(all);
      await network.mend();
      const { relay, feed } = partsOf(new MemoryTable(rows));
      await relay.partition(partitionKey);
      await consumerGroupOf(feed, 'mailer').consume(partitionKey, handle);
      const payloads = await Promise.all(
        events.map((event) => payloadOf(RowsChangedMessage, event)),
      );
      const told = new Set(payloads.flatMap((each) => each?.rows.map(({ rowKey }) => rowKey)));
      const stored = rows.all.map(({ rowKey }) => rowKey).filter((name) => name.startsWith('row'));
      assert.deepEqual(
        stored.filter((rowKey) => !told.has(rowKey)),
        [],
      );
    }));

  it('entities that are re-keyed keep every change', () =>
    onBadNetworks(rounds, async (network) => {
      const [old, next, control] = [new MemoryRows(), new MemoryRows(), new MemoryRows()];
      const moveOf = (tableOf: (rows: MemoryRows, name: string) => TableGateway) =>
        reKeyingOf({
          name: 'move',
          ...relocated(RegionalEmployee, tableOf(old, 'old'), tableOf(next, 'new')),
          control: tableOf(control, 'control'),
          refreshMs: 0,
          settleMs: 0,
          timers: impatientTimers,
        });
      const clean = moveOf((rows, table) => new MemoryTable(rows, { table }));
      const tallies = new Map(network.pair().map((region) => [region, new Tally()]));
      const regions = [...tallies.keys()];
      for (const region of regions) await clean.entities.insert({ region, department: 'd', id: 1 });
      const writing = (process: BadProcess) => {
        const { entities } = moveOf(process.table);
        return process.untilDeath(() =>
          tries(8, async () => {
            const region = network.random.pick(regions);
            await tallies.get(region)?.add(() =>
              entities.update({ region, id: 1 }, (each) => ({
                ...each,
                changes: each.changes + 1,
              })),
            );
          }),
        );
      };
      const moving = async (): Promise<void> => {
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const process = network.start();
          const move = moveOf(process.table);
          await process.untilDeath(() =>
            tries(1, async () => {
              await move.start();
              await move.backfill({ pageRows: 1 });
              await move.verify({ pageRows: 1 });
              await move.cutOver({ pageRows: 1 });
              if (network.random.chance(0.4)) await move.rollBack({ pageRows: 1 });
            }),
          );
        }
      };
      await Promise.all([writing(network.start()), writing(network.start()), moving()]);
      await network.mend();
      if ((await clean.state()).phase === 'rolling-back') await clean.rollBack();
      await clean.start();
      await clean.backfill();
      await clean.verify();
      await clean.cutOver();
      await clean.finish();
      await clean.cleanUp();
      assert.deepEqual(old.all, []);
      for (const [region, tally] of tallies) {
        const found = await clean.entities.get({ region, id: 1 });
        assert.equal(tally.fault(found?.changes), undefined);
      }
    }));

  it('partitions that are closed, moved and moved back keep every change', () =>
    onBadNetworks(rounds, async (network) => {
      const names = ['a', 'b', 'c', 'control'] as const;
      const rows = new Map(names.map((name) => [name, new MemoryRows()]));
      const mapOf = (tableOf: (rows: MemoryRows, name: string) => TableGateway): ShardMap => {
        const [a, b, c, control] = names.map((name) =>
          tableOf(rows.get(name) ?? new MemoryRows(), name),
        );
        assert.ok(a !== undefined && b !== undefined && c !== undefined && control !== undefined);
        const options = { refreshMs: 0, settleMs: 0, takeOverMs: 0, timers: impatientTimers };
        return shardMapOf({ name: 'map', control, shards: { a, b, c }, ...options });
      };
      const departmentsOf = (map: ShardMap) =>
        shardedEntitiesOf(RegionalDepartment, map, { timers: impatientTimers });
      const clean = mapOf((each, table) => new MemoryTable(each, { table }));
      await clean.create(hashRouting(['a', 'b']));
      const tallies = new Map(network.pair().map((region) => [region, new Tally()]));
      const regions = [...tallies.keys()];
      for (const region of regions) await departmentsOf(clean).insert({ region, name: 'n' });
      const writing = (process: BadProcess) => {
        const departments = departmentsOf(mapOf(process.table));
        return process.untilDeath(() =>
          tries(8, async () => {
            const region = network.random.pick(regions);
            await tallies.get(region)?.add(() =>
              departments.update({ region, name: 'n' }, (each) => ({
                ...each,
                employees: each.employees + 1,
              })),
            );
          }),
        );
      };
      const change = moveShard(network.random.pick(['a', 'b']), 'c');
      const moving = async (): Promise<void> => {
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const process = network.start();
          const map = mapOf(process.table);
          await process.untilDeath(() =>
            tries(1, async () => {
              await map.start(change);
              if (network.random.chance(0.5))
                await map.close(network.random.pick(['offline', 'read-only']));
              await map.backfill();
              await map.cutOver();
              if (network.random.chance(0.3)) await map.rollBack();
              else await map.finish();
              await map.cleanUp();
            }),
          );
        }
      };
      await Promise.all([writing(network.start()), writing(network.start()), moving()]);
      await network.mend();
      const { phase } = await clean.state();
      if (phase === 'copying' || phase === 'handing-over') await clean.cutOver();
      if (phase === 'handing-back') await clean.rollBack();
      else await clean.finish();
      await clean.cleanUp();
      for (const [region, tally] of tallies) {
        const found = await departmentsOf(clean).get({ region, name: 'n' });
        assert.equal(tally.fault(found?.employees), undefined);
      }
    }));

  it('many rows are written once, and no success is told as a conflict', () =>
    onBadNetworks(rounds, async (network) => {
      const rows = new MemoryRows();
      const make = writesOf(RegionalEmployee, { stamp: false });
      const writes = network
        .pair()
        .flatMap((region) =>
          Array.from({ length: 120 }, (_, id) => make.insert({ region, department: 'd', id })),
        );
      for (let attempt = 0; attempt < 4; attempt += 1) {
        const process = network.start();
        await process.untilDeath(async () => {
          const options = { timers: impatientTimers, concurrency: 3 };
          const { failures } = await bulk(process.table(rows), writes, options);
          for (const { error } of failures) assert.equal(error?.name, 'LostAnswerError');
        });
      }
      await network.mend();
      const { failures } = await bulk(new MemoryTable(rows), writes);
      assert.deepEqual(failures, []);
      assert.equal(rows.all.length, writes.length);
    }));
});
