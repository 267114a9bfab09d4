// Partitions over several tables, by a map that changes while they are used. Runs with the cloud
// service, Azurite and this server: set AZURE_STORAGE_CONNECTION_STRING, or start either of the
// latter two.

import { TableClient } from '@azure/data-tables';
import { defineEntity, int32, key, openTable, string } from 'tabularium/modeling';
import {
  addShard,
  assignTexts,
  hashRouting,
  listRouting,
  mergeShards,
  moveShard,
  rangeRouting,
  routedBy,
  shardedEntitiesOf,
  shardMapOf,
  shardQueryOf,
  splitRange,
  staticShardMapOf,
} from 'tabularium/modeling/shard-map';

const Order = defineEntity({
  type: 'Order',
  properties: { tenant: string(), year: int32(), id: int32(), amount: int32() },
  partitionKey: (p) => key`${p.tenant}_${p.year.padded(4)}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
// Each may be of another account.
const clientOf = (name: string) =>
  TableClient.fromConnectionString(connection, name, { allowInsecureConnection: true });
const clients = [
  'shardcontrol',
  'shardnorth',
  'shardsouth',
  'shardwest',
  'shardeast',
  'shardlate',
].map(clientOf);
for (const client of clients) await client.createTable();
try {
  const [control, north, south, west, east, late] = clients.map((client) => openTable(client));
  if (!control || !north || !south || !west || !east || !late) throw new Error('six tables');

  const map = shardMapOf({
    name: 'orders',
    control,
    shards: { north, south, west },
    routeBy: routedBy(Order, 'tenant'),
    // An example does not wait for the readers of other programs: leave this out.
    settleMs: 0,
  });
  await map.create(hashRouting(['north', 'south']));
  const orders = shardedEntitiesOf(Order, map);

  for (let id = 0; id < 20; id += 1) {
    await orders.insert({ tenant: `tenant${id % 10}`, year: 2024, id, amount: 1 });
  }
  const seven = { tenant: 'tenant7', year: 2024, id: 7 };
  await orders.update(seven, (order) => ({ ...order, amount: order.amount + 1 }));
  const ofTenant = orders.query({ partition: { tenant: 'tenant7', year: 2024 } });
  for await (const { id, amount } of ofTenant) console.log(`order ${id} has ${amount}`);
  const large = orders.queryAll({ where: (p) => p.amount.gt(1) });
  for await (const { tenant, id } of large) console.log(`${tenant} has the large order ${id}`);

  const report = { order: 'keys', partial: 'report', deadlineMs: 10_000 } as const;
  const query = shardQueryOf(Order, map, { where: (p) => p.amount.gt(1) }, report);
  for await (const { shard, entity } of query) console.log(`${shard}: order ${entity.id}`);
  for (const { shard, error } of query.failures) console.log(`${shard} is missing:`, error);

  const found = await map.recovery.plan('map');
  for (const { partitionKey, kind, rows } of found.differences) {
    console.log(`${partitionKey} is ${kind}: ${rows} rows differ`);
  }
  await map.recovery.recover(found);

  const plan = await map.plan(addShard('west'));
  console.log(`${plan.moving} of ${plan.rows} orders would move`);
  for (const { from, to, partitions, rows } of plan.moves) {
    console.log(`${from} to ${to}: ${rows} orders of ${partitions} partitions`);
  }

  await map.start(plan);
  await map.backfill({ onProgress: ({ partitions }) => console.log(`${partitions} copied …`) });
  const { rows: behind } = await map.verify();
  console.log(`${behind} orders have changed since`);
  await map.cutOver();
  await orders.update(seven, (order) => ({ ...order, amount: order.amount + 1 }));
  await map.rollBack();
  console.log(`${(await map.state()).phase}: ${(await orders.get(seven))?.amount}`);

  await map.apply(addShard('west'));
  await map.cleanUp();
  console.log(`version ${(await map.state()).version}: ${(await orders.get(seven))?.amount}`);

  await map.apply(mergeShards('south', 'west'));
  await map.apply(
    rangeRouting([
      { from: '', shard: 'north' },
      { from: 'tenant5', shard: 'west' },
    ]),
  );
  await map.apply(splitRange({ from: 'tenant3', before: 'tenant7' }, 'south'));
  await map.apply(moveShard('north', 'south'));
  await map.apply(listRouting({ tenant1: 'north' }, 'west'));

  // At a quiet hour: closed to writes while it moves, copied once, compared, opened.
  await map.start(moveShard('west', 'south'));
  await map.close('read-only');
  await map.backfill();
  const { rows: different } = await map.verify();
  if (different > 0) await map.rollBack();
  else await map.cutOver();
  await map.finish();
  console.log(`${different} orders differed`);
  await map.apply(assignTexts(['tenant7', 'tenant8'], 'south'));
  await map.cleanUp();
  // A routing that is part of the program: no rows beside the entities, no requests more.
  const archive = staticShardMapOf({
    name: 'archive',
    shards: { east, late },
    routing: hashRouting(['east', 'late']),
    routeBy: routedBy(Order, 'tenant'),
  });
  const archived = shardedEntitiesOf(Order, archive);
  await archived.insert({ tenant: 'tenant1', year: 2023, id: 1, amount: 1 });
  await archived.insert({ tenant: 'tenant2', year: 2023, id: 2, amount: 1 });
  console.log(`${(await archived.queryAll().toArray({ max: 9 })).length} archived orders`);
  for await (const { partitionKey, shard, home } of archive.misplaced()) {
    console.log(`${partitionKey} is in ${shard} instead of ${home}`);
  }

  const all = await orders.queryAll().toArray({ max: 100 });
  console.log(`${all.length} orders, one tenant of them in ${north.table}`);
} finally {
  for (const client of clients) await client.deleteTable();
}
