import { TableClient } from '@azure/data-tables';
import { createServer } from 'tabularium';
import { defineEntity, int32, key, openTable, string } from 'tabularium/modeling';
import {
  assignTexts,
  listRouting,
  shardedEntitiesOf,
  shardMapOf,
  shardQueryOf,
} from 'tabularium/modeling/shard-map';

// Tenants over three accounts, one of them moved while it is written to. Each server is an account.

const Order = defineEntity({
  type: 'Order',
  properties: { tenant: string(), id: int32(), amount: int32() },
  partitionKey: (p) => key`${p.tenant}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

async function openAccount() {
  const server = await createServer({ inMemory: true });
  const table = async (name: string) => {
    const insecure = { allowInsecureConnection: true };
    const client = TableClient.fromConnectionString(server.connectionString(), name, insecure);
    await client.createTable();
    return openTable(client);
  };
  return { table, close: () => server.close() };
}

const accounts = [await openAccount(), await openAccount(), await openAccount()] as const;
const [one, two, three] = accounts;

const map = shardMapOf({
  name: 'orders',
  control: await one.table('control'),
  shards: {
    one: await one.table('orders'),
    two: await two.table('orders'),
    three: await three.table('orders'),
  },
  settleMs: 0,
});
await map.create(listRouting({ contoso: 'one', fabrikam: 'two' }, 'two'));
const orders = shardedEntitiesOf(Order, map);
for (const tenant of ['contoso', 'fabrikam']) {
  for (let id = 1; id <= 50; id += 1) await orders.insert({ tenant, id, amount: 1 });
}

const moved = new AbortController();
let writes = 0;
const writing = (async () => {
  while (!moved.signal.aborted) {
    const id = 1 + (writes % 50);
    await orders.update({ tenant: 'contoso', id }, (order) => ({
      ...order,
      amount: order.amount + 1,
    }));
    writes += 1;
  }
})();
await map.apply(assignTexts(['contoso'], 'three'));
moved.abort();
await writing;
await map.cleanUp();

let sum = 0;
const shards = new Set<string>();
for await (const { shard, entity } of shardQueryOf(Order, map, {}, { order: 'keys' })) {
  if (entity.tenant !== 'contoso') continue;
  sum += entity.amount;
  shards.add(shard);
}
console.log(`contoso is on ${[...shards].join(' and ')}`);
console.log(sum === 50 + writes ? 'no write is lost' : `${50 + writes - sum} writes are lost`);
for (const account of accounts) await account.close();
