// Counts and totals that are kept instead of computed: beside the entities, in shards, by events.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  double,
  entitiesOf,
  int32,
  int64,
  key,
  openTable,
  string,
  transaction,
} from 'tabularium/modeling';
import {
  eventViewOf,
  partitionViewOf,
  shardedCounterOf,
} from 'tabularium/modeling/materialised-views';
import {
  knownPartitions,
  outboxOf,
  relayOf,
  toHandlers,
} from 'tabularium/modeling/transactional-outbox';
import { defineMessage, handle, keyPayload } from 'tabularium/modeling/worker';

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), name: string(), salary: double() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const DepartmentTotals = defineEntity({
  type: 'DepartmentTotals',
  properties: {
    department: string(),
    employees: int32().default(0),
    payroll: double().default(0),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`totals`,
});

const PageVisits = defineEntity({
  type: 'PageVisits',
  properties: { page: string(), shard: int32(), visits: int64().default(0n) },
  partitionKey: (p) => key`visits_${p.page}_${p.shard.padded(3)}`,
  rowKey: () => key`visits`,
});

const Stock = defineEntity({
  type: 'Stock',
  properties: { product: string(), count: int32().default(0) },
  partitionKey: (p) => key`stock_${p.product}`,
  rowKey: () => key`stock`,
});

const Sale = defineEntity({
  type: 'Sale',
  properties: { year: int32(), id: int32(), lamps: int32() },
  partitionKey: (p) => key`sales_${p.year.padded(4)}`,
  rowKey: (p) => key`sale_${p.id.padded(6)}`,
});
const Sold = defineMessage('sold', { payload: keyPayload(Sale) });

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'viewsexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });

  const totals = partitionViewOf({
    source: Employee,
    view: DepartmentTotals,
    table,
    keyOf: ({ department }) => ({ department }),
    measures: { employees: () => 1, payroll: ({ salary }) => salary },
  });
  await totals.insert({ department: 'Sales', id: 1, name: 'Jo', salary: 4000 });
  console.log(`insert: ${requests.join(', ')}`);
  await totals.insert({ department: 'Sales', id: 2, name: 'Al', salary: 3000 });
  const jo = await entitiesOf(Employee, table).get({ department: 'Sales', id: 1 });
  if (jo !== undefined) await totals.replace(jo, { ...jo, salary: 5000 });
  const sales = await totals.read({ department: 'Sales' });
  console.log(`Sales: ${sales?.employees} employees, ${sales?.payroll} a month`);

  // Somebody writes past the view: it is found, and corrected while others go on.
  const stranger = { department: 'Sales', id: 3, name: 'Di', salary: 1000 };
  await entitiesOf(Employee, table).insert(stranger);
  for (const { stored, actual } of await totals.verify({ department: 'Sales' })) {
    console.log(`drift: ${JSON.stringify(stored)} should be ${JSON.stringify(actual)}`);
  }
  await totals.rebuild({ department: 'Sales' });
  console.log(`drifts left: ${(await totals.verify({ department: 'Sales' })).length}`);

  const visits = shardedCounterOf(PageVisits, table, {
    shard: 'shard',
    shards: 8,
    measures: ['visits'],
  });
  await Promise.all(Array.from({ length: 50 }, () => visits.add({ page: 'home' }, { visits: 1n })));
  console.log(`visits: ${(await visits.read({ page: 'home' })).visits}`);

  // A sale announces itself in its own transaction; each announcement counts once, however often
  // it is delivered.
  const registry = knownPartitions(['sales_2014']);
  const outbox = outboxOf({ table, registry });
  const stock = eventViewOf(Stock, table);
  const product = { product: 'lamp' };
  const count = handle(Sold, async ({ year, id }, { id: event }) => {
    const sale = await entitiesOf(Sale, table).get({ year, id });
    const outcome = await stock.apply(event, product, (current) => ({
      ...product,
      count: (current?.count ?? 100) - (sale?.lamps ?? 0),
    }));
    console.log(`sale ${id}: ${outcome}`);
  });
  const relay = relayOf({ table, registry, dispatch: toHandlers([count]) });

  for (const [id, lamps] of [
    [1, 2],
    [2, 5],
  ] as const) {
    const message = await outbox.message('sales_2014', Sold, { year: 2014, id });
    const { writes } = transaction(table).insert(Sale, { year: 2014, id, lamps });
    await outbox.transact(writes, [message]);
  }
  await relay.sweep();
  const again = await stock.apply('known', product, () => ({ ...product, count: 93 }));
  console.log(`an event: ${again}`);
  console.log(`the same: ${await stock.apply('known', product, () => ({ ...product, count: 0 }))}`);
  console.log(`lamps: ${(await stock.read(product))?.count}`);
} finally {
  await client.deleteTable();
}
