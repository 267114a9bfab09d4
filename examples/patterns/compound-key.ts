// An employee with the reviews of each year, found together by one read.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { compoundKeyOf, defineEntity, int32, key, openTable, string } from 'tabularium/modeling';

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), firstName: string(), lastName: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const Review = defineEntity({
  type: 'Review',
  properties: {
    department: string(),
    id: int32(),
    year: int32(),
    managerRating: int32().named('Manager Rating'),
    peerRating: int32().named('Peer Rating'),
    comments: string().named('Comments'),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}_${p.year.padded(4)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'compoundkeyexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const reviews = compoundKeyOf(Employee, Review, table);

  const department = 'Sales';
  await reviews.parents.insert({ department, id: 123, firstName: 'Jo', lastName: 'Jones' });
  await reviews.parents.insert({ department, id: 124, firstName: 'Al', lastName: 'Smith' });
  for (const year of [2010, 2011, 2012]) {
    const rating = year - 2007;
    await reviews.children.insert({
      department,
      id: 123,
      year,
      managerRating: rating,
      peerRating: 4,
      comments: `the year ${year}`,
    });
  }

  // The keys are those of the guide, and names that the service does not take are mapped.
  const row = await table.get({ partitionKey: 'Sales', rowKey: 'empid_000123_2012' });
  console.log(Object.keys(row?.properties ?? {}).join(', '));

  requests.length = 0;
  const { parent, children } = await reviews.family({ department: 'Sales', id: 123 });
  console.log(`${parent?.lastName}: ${children.map(({ year }) => year).join(', ')}`);
  console.log(`requests: ${requests.join(', ')}`);

  const query = reviews.children.query({
    partition: { department: 'Sales' },
    rowKeyFrom: { id: 123, year: 2011 },
    rowKeyTo: { id: 123 },
    select: ['managerRating', 'peerRating', 'comments'],
  });
  console.log(`${query.plan.class}: ${query.plan.filters.join()}`);
  for await (const { year, managerRating, comments } of query) {
    console.log(`${year}: ${managerRating}, ${comments}`);
  }

  // The guide's own filter, on rows as they are stored.
  const { from, before } = reviews.range({ department: 'Sales', id: 123 });
  const page = await table.page({
    filter: `PartitionKey eq 'Sales' and RowKey ge '${from}' and RowKey lt '${before}'`,
    select: ['Manager_x0020_Rating', 'Peer_x0020_Rating', 'Comments'],
  });
  console.log(page.rows.map(({ rowKey }) => rowKey).join(', '));
} finally {
  await client.deleteTable();
}
