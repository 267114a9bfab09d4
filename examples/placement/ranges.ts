import { TableClient } from '@azure/data-tables';
import { createServer } from 'tabularium';
import { defineEntity, entitiesOf, int32, key, openTable, string } from 'tabularium/modeling';
import {
  rangeRouting,
  shardedEntitiesOf,
  shardMapOf,
  splitRange,
} from 'tabularium/modeling/shard-map';

// Orders by ranges of months: the range that grows is split, read-only for as long as that takes.

const Order = defineEntity({
  type: 'Order',
  properties: { month: string(), id: int32() },
  partitionKey: (p) => key`${p.month}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

const server = await createServer({ inMemory: true });
const newTable = async (name: string) => {
  const insecure = { allowInsecureConnection: true };
  const client = TableClient.fromConnectionString(server.connectionString(), name, insecure);
  await client.createTable();
  return openTable(client);
};
const shards = { old: await newTable('old'), recent: await newTable('recent') };
const control = await newTable('control');
const map = shardMapOf({ name: 'orders', control, shards, settleMs: 0 });
await map.create(rangeRouting([{ from: '', shard: 'old' }]));
const orders = shardedEntitiesOf(Order, map);
for (const month of ['2024-01', '2024-02', '2024-03', '2024-04']) {
  for (let id = 1; id <= 10; id += 1) await orders.insert({ month, id });
}

const plan = await map.plan(splitRange({ from: '2024-03' }, 'recent'));
console.log(`${plan.moving} of ${plan.rows} orders would move`);
await map.start(plan);
await map.close('read-only');
await map.backfill();
const { rows } = await map.verify();
console.log(`${rows} rows differ`);
const refused = await orders
  .insert({ month: '2024-04', id: 11 })
  .catch((error: unknown) => (error instanceof Error ? error.name : 'unknown'));
console.log(typeof refused === 'string' ? refused : 'written');
await map.cutOver();
await map.finish();
await orders.insert({ month: '2024-04', id: 11 });
await map.cleanUp();

for (const [name, table] of Object.entries(shards)) {
  const here = await entitiesOf(Order, table).scanTable().toArray({ max: 100 });
  console.log(`${name} has ${here.length} orders`);
}
await server.close();
