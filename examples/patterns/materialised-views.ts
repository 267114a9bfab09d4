// Counts and totals that are kept instead of computed: beside the entities, in shards, by events.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  double,
  entitiesOf,
  EventView,
  int32,
  int64,
  key,
  openTable,
  PartitionView,
  ShardedCounter,
  string,
} from 'tabularium/modeling';

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

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'viewsexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });

  const totals = new PartitionView({
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

  const visits = new ShardedCounter(PageVisits, table, {
    shard: 'shard',
    shards: 8,
    measures: ['visits'],
  });
  await Promise.all(Array.from({ length: 50 }, () => visits.add({ page: 'home' }, { visits: 1n })));
  console.log(`visits: ${(await visits.read({ page: 'home' })).visits}`);

  // Events come from a queue or an outbox, perhaps more than once: each counts once.
  const stock = new EventView(Stock, table);
  const product = { product: 'lamp' };
  const deliveries = [
    { id: 'order-1', count: -2 },
    { id: 'delivery-7', count: 10 },
    { id: 'order-1', count: -2 },
  ];
  for (const { id, count } of deliveries) {
    const outcome = await stock.apply(id, product, (current) => ({
      ...product,
      count: (current?.count ?? 0) + count,
    }));
    console.log(`${id}: ${outcome}`);
  }
  console.log(`lamps: ${(await stock.read(product))?.count}`);
} finally {
  await client.deleteTable();
}
