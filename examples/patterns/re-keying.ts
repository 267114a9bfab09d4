// Live data moved to other keys: both sides written, copied, verified, cut over. Runs with the
// cloud service, Azurite and this server: set AZURE_STORAGE_CONNECTION_STRING, or start either of
// the latter two.

import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  openSpreadEntities,
  openTable,
  string,
} from 'tabularium/modeling';
import { rebucketed, reKeyingOf, type MoveDrift } from 'tabularium/modeling/re-keying';

const OrderByCustomer = defineEntity({
  type: 'Order',
  properties: { customer: string(), id: int32(), city: string(), amount: int32() },
  partitionKey: (p) => key`${p.customer}`,
  rowKey: (p) => key`${p.city}_${p.id.padded(6)}`,
});
const OrderByCity = defineEntity({
  type: 'Order',
  version: 2,
  properties: { customer: string(), id: int32(), city: string(), amount: int32() },
  partitionKey: (p) => key`${p.city}`,
  rowKey: (p) => key`${p.id.padded(6)}_${p.customer}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const clientOf = (name: string) =>
  TableClient.fromConnectionString(connection, name, { allowInsecureConnection: true });
const clients = ['rekeyingold', 'rekeyingnew', 'rekeyingfour', 'rekeyingnine'].map(clientOf);
for (const client of clients) await client.createTable();
try {
  const [oldTable, newTable, fourTable, nineTable] = clients.map((client) => openTable(client));
  if (!oldTable || !newTable || !fourTable || !nineTable) throw new Error('four tables');
  const byCustomer = entitiesOf(OrderByCustomer, oldTable);
  for (let id = 0; id < 20; id += 1) {
    await byCustomer.insert({ customer: 'contoso', city: id % 2 ? 'Oslo' : 'Rome', id, amount: 1 });
  }

  const move = reKeyingOf({
    name: 'orders by city',
    from: { definition: OrderByCustomer, table: oldTable },
    to: { definition: OrderByCity, table: newTable },
    keys: (order: { customer: string; city: string; id: number }) => ({ old: order, new: order }),
    forward: (old) => old,
    backward: (order) => order,
    // An example does not wait for other programs: leave these two out.
    refreshMs: 0,
    settleMs: 0,
  });
  const orders = move.entities;

  const seven = { customer: 'contoso', city: 'Oslo', id: 7 };
  await orders.update(seven, (order) => ({ ...order, amount: order.amount + 1 }));
  const inOslo = orders.query({
    old: () => byCustomer.scanTable({ where: (p) => p.amount.gt(1) }),
    new: () => entitiesOf(OrderByCity, newTable).query({ partition: { city: 'Oslo' } }),
  });
  for await (const { id, amount } of inOslo) console.log(`order ${id} has ${amount}`);

  await move.start();
  const copied = await move.backfill({ onProgress: ({ checked }) => console.log(`${checked} …`) });
  console.log(`${copied.written} orders copied`);

  const drifts: MoveDrift[] = [];
  await move.verify({ onDrift: (drift) => drifts.push(drift) });
  console.log(`${drifts.length} differ`);

  await move.cutOver();
  await orders.delete({ customer: 'contoso', city: 'Rome', id: 0 }, { ifMatch: 'any' });
  console.log(`${(await move.state()).phase}: ${(await orders.get(seven))?.amount}`);

  await move.rollBack();
  console.log(`${(await move.state()).phase}: ${(await byCustomer.get(seven))?.amount}`);

  await move.start();
  await move.backfill();
  await move.verify();
  await move.cutOver();
  await move.finish();
  await move.cleanUp();
  const left = await byCustomer.scanTable().toArray({ max: 100 });
  const there = await entitiesOf(OrderByCity, newTable).scanTable().toArray({ max: 100 });
  console.log(`${left.length} orders by customer, ${there.length} by city`);

  // Spread keys over nine buckets instead of four, or four instead of nine.
  const Event = defineEntity({
    type: 'Event',
    properties: { bucket: int32(), id: int32() },
    partitionKey: (p) => key`${p.bucket.padded(2)}`,
    rowKey: (p) => key`${p.id.padded(6)}`,
  });
  const four = await openSpreadEntities(Event, fourTable, { bucket: 'bucket', buckets: 4 });
  for (let id = 0; id < 20; id += 1) await four.insert({ id });
  const nine = await openSpreadEntities(Event, nineTable, { bucket: 'bucket', buckets: 9 });
  const split = reKeyingOf({ name: 'nine buckets', ...rebucketed(four, nine), settleMs: 0 });
  await split.start();
  await split.entities.insert(nine.entity({ id: 20 }));
  await split.backfill();
  await split.verify();
  await split.cutOver();
  const events = await nine.query({ partition: {} }).toArray({ max: 100 });
  console.log(`${events.length} events in nine buckets`);
} finally {
  for (const client of clients) await client.deleteTable();
}
