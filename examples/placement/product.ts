import { TableClient } from '@azure/data-tables';
import { createServer } from 'tabularium';
import { double, int32, key, openTable, string } from 'tabularium/modeling';
import { defineVertical, verticalEntitiesOf } from 'tabularium/modeling/vertical-split';

// A product split vertically: what shops show, what every order changes, and what is secret, each
// in a table of its own, the secret one in an account of its own.

const Product = defineVertical({
  type: 'Product',
  keys: { shop: string(), id: int32() },
  partitionKey: (p) => key`${p.shop}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
  groups: {
    about: { name: string(), price: double() },
    stock: { level: int32(), lastOrder: string().optional() },
    secret: { supplier: string() },
  },
  leader: 'about',
});

const [shop, vault] = [
  await createServer({ inMemory: true }),
  await createServer({ inMemory: true }),
];
const newTable = async (server: typeof shop, name: string) => {
  const insecure = { allowInsecureConnection: true };
  const client = TableClient.fromConnectionString(server.connectionString(), name, insecure);
  await client.createTable();
  return openTable(client, { observer: ({ kind }) => requests.push(`${name}: ${kind}`) });
};
const requests: string[] = [];
const about = await newTable(shop, 'about');
const stock = await newTable(shop, 'stock');
const secret = await newTable(vault, 'secret');
const products = verticalEntitiesOf(Product, { about, stock, secret });
await products.insert({
  shop: 'berlin',
  id: 7,
  name: 'lamp',
  price: 9.5,
  level: 3,
  supplier: 'acme',
});

requests.length = 0;
const lamp = { shop: 'berlin', id: 7 };
await products.merge(lamp, { level: 2, lastOrder: '2024-05-31' });
const shown = await products.get(lamp, { groups: ['about'] });
console.log(`${shown?.name} costs ${shown?.price}`);
console.log(requests.join(', '));

// The table of the shop comes back from an older copy, without the product.
await about.write({
  kind: 'delete',
  key: { partitionKey: 'berlin', rowKey: '000007' },
  etag: '*',
});
for (const { kind, group } of await products.verify({ repair: true, graceMs: 0 })) {
  console.log(`${group}: ${kind}`);
}
await shop.close();
await vault.close();
