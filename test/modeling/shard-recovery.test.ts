import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { entitiesOf, type StoredRow, type TableGateway } from '../../src/modeling/index.js';
import { allRows } from '../../src/modeling/table/all-rows.js';
import {
  hashRouting,
  listRouting,
  moveShard,
  rangeRouting,
  StaleMapError,
  UnknownShardError,
  type ShardRouting,
} from '../../src/modeling/patterns/shard-map/index.js';
import { costly, sampled } from '../support/run-length.js';
import {
  amountsIn,
  mapOf,
  newShardTables,
  Order,
  ordersOf,
  ownersIn,
  startTwoAccounts,
} from './support/sharded-orders.js';

const { here, there, close } = await startTwoAccounts();
after(close);

const routings: readonly ShardRouting[] = [
  listRouting({ contoso: 'a', fabrikam: 'b' }, 'a'),
  rangeRouting([
    { from: '', shard: 'a' },
    { from: 'f', shard: 'b' },
  ]),
  hashRouting(['a', 'b'], 8),
];

/** One order of each tenant, with amount 1. */
async function world(routing: ShardRouting, tenants: readonly string[] = ['contoso', 'fabrikam']) {
  const tables = await newShardTables(here, there);
  const map = mapOf(tables);
  await map.create(routing);
  const orders = ordersOf(map);
  for (const tenant of tenants) await orders.insert({ tenant, id: 1, amount: 1 });
  return { tables, map, orders };
}

async function copyOf(table: TableGateway): Promise<readonly StoredRow[]> {
  const rows: StoredRow[] = [];
  for await (const row of allRows(table, {})) rows.push(row);
  return rows;
}

/** Puts a table back to an earlier copy. */
async function restore(table: TableGateway, copy: readonly StoredRow[]): Promise<void> {
  for (const { partitionKey, rowKey } of await copyOf(table)) {
    await table.write({ kind: 'delete', key: { partitionKey, rowKey }, etag: '*' });
  }
  for (const row of copy) {
    const { partitionKey, rowKey, properties } = row;
    await table.write({ kind: 'insert', row: { partitionKey, rowKey, properties } });
  }
}

describe('recovery of a shard map', () => {
  it('finds nothing where nothing is wrong, also while old copies are still there', async () => {
    for (const routing of sampled(routings, 1)) {
      const { map } = await world(routing);
      await map.apply(moveShard('b', 'c'));
      const { differences, isWhole } = await map.recovery.plan('map');
      assert.deepEqual([differences, isWhole], [[], true]);
    }
  });

  for (const keep of ['map', 'shards'] as const) {
    it(`ends what a restored map has made wrong, keeping the ${keep}`, async () => {
      for (const routing of sampled(routings, 1)) {
        const { tables, map, orders } = await world(routing);
        const before = await copyOf(tables.control);
        const from = (await map.shardOf('contoso')) ?? '';
        await map.apply(moveShard(from, 'c'));
        const contoso = { tenant: 'contoso', id: 1 };
        await orders.update(contoso, (order) => ({ ...order, amount: 2 }));
        await map.cleanUp();
        await restore(tables.control, before);

        const plan = await map.recovery.plan(keep);
        assert.ok(plan.differences.some(({ partitionKey }) => partitionKey === 'contoso'));
        assert.ok(
          plan.differences.every(({ kind }) => kind === 'owned-elsewhere'),
          routing.kind,
        );
        await map.recovery.recover(plan);
        assert.equal((await orders.get(contoso))?.amount, 2, routing.kind);
        assert.equal(await map.shardOf('contoso'), keep === 'map' ? from : 'c');
        assert.deepEqual((await map.recovery.plan(keep)).differences, []);
        const owners = await ownersIn(tables);
        assert.deepEqual(owners.get('contoso'), [keep === 'map' ? from : 'c']);
      }
    });

    it(`ends what a restored shard has made wrong, keeping the ${keep}`, async () => {
      for (const routing of sampled(routings, 1)) {
        const { tables, map, orders } = await world(routing);
        const from = (await map.shardOf('contoso')) === 'a' ? 'a' : 'b';
        const before = await copyOf(tables[from]);
        await map.apply(moveShard(from, 'c'));
        const contoso = { tenant: 'contoso', id: 1 };
        await orders.update(contoso, (order) => ({ ...order, amount: 2 }));
        await map.cleanUp();
        await restore(tables[from], before);

        const plan = await map.recovery.plan(keep);
        const found = plan.differences.find(({ partitionKey }) => partitionKey === 'contoso');
        assert.deepEqual(
          [found?.kind, found?.home, found?.shard, found?.rows],
          ['owned-twice', 'c', from, 1],
        );
        await map.recovery.recover(plan);
        // Both accept writes: the side that is kept has the rows.
        assert.equal((await orders.get(contoso))?.amount, keep === 'map' ? 2 : 1, routing.kind);
        assert.deepEqual((await map.recovery.plan(keep)).differences, []);
        assert.deepEqual((await ownersIn(tables)).get('contoso'), [keep === 'map' ? 'c' : from]);
      }
    });

    it(`finds a later handover than that of the owner, keeping the ${keep}`, async () => {
      for (const routing of sampled(routings, 1)) {
        const { tables, map, orders } = await world(routing);
        const contoso = { tenant: 'contoso', id: 1 };
        const from = (await map.shardOf('contoso')) === 'a' ? 'a' : 'b';
        const before = await copyOf(tables[from]);
        await map.apply(moveShard(from, 'c'));
        await orders.update(contoso, (order) => ({ ...order, amount: 2 }));
        await map.apply(moveShard('c', from));
        await restore(tables[from], before);

        const plan = await map.recovery.plan(keep);
        assert.ok(plan.differences.every(({ kind }) => kind === 'outdated'));
        await map.recovery.recover(plan);
        assert.equal((await orders.get(contoso))?.amount, keep === 'map' ? 1 : 2, routing.kind);
        assert.deepEqual((await map.recovery.plan(keep)).differences, []);
      }
    });
  }

  it('ends one difference after the other, each as it is told', costly(), async () => {
    const texts = { contoso: 'a', fabrikam: 'a', tailspin: 'a' };
    const { tables, map, orders } = await world(listRouting(texts), Object.keys(texts));
    const before = await copyOf(tables.control);
    await map.apply(moveShard('a', 'c'));
    await map.cleanUp();
    await restore(tables.control, before);
    const { differences } = await map.recovery.plan('map');
    const [contoso, fabrikam, tailspin] = differences;
    assert.ok(contoso && fabrikam && tailspin);
    assert.equal((await map.recovery.resolve(contoso, 'shards')).rows, 0);
    assert.equal((await map.recovery.resolve(fabrikam, 'map')).rows, 1);
    await assert.rejects(map.recovery.resolve(contoso, 'map'), StaleMapError);
    const left = (await map.recovery.plan('map')).differences;
    assert.deepEqual(
      left.map(({ partitionKey }) => partitionKey),
      ['tailspin'],
    );
    assert.deepEqual([await map.shardOf('contoso'), await map.shardOf('fabrikam')], ['c', 'a']);
    const owners = await ownersIn(tables);
    assert.deepEqual([owners.get('contoso'), owners.get('fabrikam')], [['c'], ['a']]);
    await map.recovery.resolve(tailspin, 'map');
    assert.equal((await amountsIn(orders.queryAll())).length, 3);
  });

  it('makes the rows of a map again on a shard that was restored without them', async () => {
    const { tables, map, orders } = await world(listRouting({ contoso: 'a', fabrikam: 'a' }, 'b'));
    const content = (await copyOf(tables.a)).filter(({ rowKey }) => !rowKey.startsWith('!'));
    await restore(
      tables.a,
      content.filter(({ partitionKey }) => !partitionKey.startsWith('!')),
    );
    // Another shard has heard of this one since: that is a difference, for people.
    const other = { partitionKey: 'fabrikam', rowKey: '!shard:epoch' };
    const properties = {
      EntityType: { type: 'String', value: 'ShardFence' },
      Epoch: { type: 'Int32', value: 7 },
    } as const;
    await tables.c.write({ kind: 'insert', row: { ...other, properties } });
    const expected = { shard: 'a', opened: 1, differing: 1 };
    assert.deepEqual(await map.recovery.rebuildLocal('a'), expected);
    assert.deepEqual(await ownersIn(tables), new Map());
    assert.deepEqual(await map.recovery.rebuildLocal('a', { write: true }), expected);
    assert.deepEqual(await ownersIn(tables), new Map([['contoso', ['a']]]));
    assert.deepEqual(await map.recovery.rebuildLocal('a'), { ...expected, opened: 0 });
    assert.equal((await orders.get({ tenant: 'contoso', id: 1 }))?.amount, 1);
    assert.deepEqual(
      (await map.recovery.plan('map')).differences.map(({ kind }) => kind),
      ['outdated'],
    );
    await assert.rejects(map.recovery.rebuildLocal('x'), UnknownShardError);
  });

  it('makes a lost map again from what shards own', async () => {
    for (const routing of sampled(routings, 1)) {
      const { tables, map, orders } = await world(routing, ['contoso', 'fabrikam', 'tailspin']);
      await map.apply(moveShard('b', 'c'));
      const before = await amountsIn(orders.queryAll());
      await restore(tables.control, []);
      const wanted = {
        list: { kind: 'list' },
        range: { kind: 'range', first: 'a' },
        hash: { kind: 'hash', slots: 8, otherwise: 'a' },
      } as const;
      const again = mapOf(tables);
      const rebuilt = await again.recovery.rebuiltRouting(wanted[routing.kind]);
      await again.create(rebuilt);
      assert.deepEqual((await again.recovery.plan('map')).differences, []);
      assert.deepEqual(await amountsIn(ordersOf(again).queryAll()), before);
    }
  });

  it('keeps rows that were there before the map', costly(), async () => {
    const { tables, map, orders } = await world(hashRouting(['a', 'b'], 1));
    await entitiesOf(Order, tables.a).insert({ tenant: 'tailspin', id: 1, amount: 7 });
    const before = await copyOf(tables.control);
    await map.apply(moveShard('a', 'c'));
    await map.cleanUp();
    await restore(tables.control, before);
    await entitiesOf(Order, tables.a).insert({ tenant: 'wingtip', id: 1, amount: 8 });
    await entitiesOf(Order, tables.c).insert({ tenant: 'wingtip', id: 1, amount: 3 });
    await map.recovery.recover(await map.recovery.plan('map'));
    assert.equal((await orders.get({ tenant: 'wingtip', id: 1 }))?.amount, 8);
    assert.equal((await orders.get({ tenant: 'tailspin', id: 1 }))?.amount, 7);
  });

  it('goes on where it was killed, by the steps of a change', async () => {
    const { tables, map, orders } = await world(hashRouting(['a', 'b'], 8));
    const before = await copyOf(tables.control);
    const from = (await map.shardOf('contoso')) ?? '';
    await map.apply(moveShard(from, 'c'));
    await map.cleanUp();
    await restore(tables.control, before);
    let isKilled = false;
    const { control } = tables;
    const killed: TableGateway = {
      table: control.table,
      get: (key, select) => control.get(key, select),
      page: (query) => control.page(query),
      transact: (writes) => control.transact(writes),
      write: async (write) => {
        if (isKilled) throw new Error('killed');
        const isHandover =
          'row' in write && write.row.properties['Phase']?.value === 'handing-over';
        const result = await control.write(write);
        isKilled = isHandover;
        return result;
      },
    };
    const dying = mapOf({ ...tables, control: killed });
    await assert.rejects(dying.recovery.recover(await dying.recovery.plan('map')), /killed/);
    assert.equal((await map.state()).phase, 'handing-over');
    await map.cutOver();
    await map.finish();
    assert.deepEqual((await map.recovery.plan('map')).differences, []);
    assert.equal(await map.shardOf('contoso'), from);
    assert.equal((await orders.get({ tenant: 'contoso', id: 1 }))?.amount, 1);
  });

  it('is refused by a plan of another version, and while the map changes', async () => {
    const { tables, map } = await world(routings[0] ?? hashRouting(['a']));
    const before = await copyOf(tables.a);
    await map.apply(moveShard('a', 'c'));
    await restore(tables.a, before);
    const plan = await map.recovery.plan('map');
    await map.start(moveShard('b', 'a'));
    await assert.rejects(map.recovery.recover(plan), StaleMapError);
    await assert.rejects(map.recovery.plan('map'), StaleMapError);
    await map.rollBack();
    await assert.rejects(map.recovery.recover(plan), StaleMapError);
  });
});
