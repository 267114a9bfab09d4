// Employees found by their id and by their email, both by point reads: the employee is stored
// twice, in one partition and one transaction. Works with the cloud service, Azurite and this
// server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { defineEntity, int32, key, openTable, string } from 'tabularium/modeling';
import {
  indexedEntitiesOf,
  IndexValueTakenError,
  samePartition,
  withIndexes,
} from 'tabularium/modeling/indexes';

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    firstName: string(),
    lastName: string(),
    email: string(),
    badge: int32().optional(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const EmployeeIndexes = withIndexes(Employee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  badge: samePartition({
    sparse: true,
    rowKey: (p) => key`badge_${p.badge.padded(4)}`,
    include: ['firstName', 'lastName'],
  }),
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'intrapartitionindex', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const taken = (): string => requests.splice(0).join(', ');
  const employees = indexedEntitiesOf(EmployeeIndexes, { table });

  await employees.insert({
    department: 'Sales',
    id: 223,
    firstName: 'Jun',
    lastName: 'Jones',
    email: 'jonesj@contoso.com',
    badge: 0,
  });
  console.log(`insert: ${taken()}`);
  await employees.insert({
    department: 'Sales',
    id: 152,
    firstName: 'Ada',
    lastName: 'Abbot',
    email: 'abbota@contoso.com',
  });
  for await (const { rowKey } of client.listEntities()) console.log(`  ${rowKey}`);
  requests.length = 0;

  // Point reads by either key.
  const byId = await employees.get({ department: 'Sales', id: 223 });
  const byEmail = await employees.by.email.get({
    department: 'Sales',
    email: 'jonesj@contoso.com',
  });
  console.log(`${byId?.lastName}, ${byEmail?.lastName}: ${taken()}`);

  // Ranges of either key.
  const someIds = employees.query({
    partition: { department: 'Sales' },
    rowKeyFrom: { id: 100 },
    rowKeyTo: { id: 199 },
  });
  console.log(`${someIds.plan.class}: ${someIds.plan.filters.join()}`);
  for await (const { id, lastName } of someIds) console.log(`  ${id} ${lastName}`);
  const withA = employees.by.email.query({
    partition: { department: 'Sales' },
    rowKeyFrom: { email: 'a' },
    rowKeyBefore: { email: 'b' },
  });
  console.log(`${withA.plan.class}: ${withA.plan.filters.join()}`);
  for await (const { email } of withA) console.log(`  ${email}`);
  requests.length = 0;

  // A copy with only some properties, of those who have a badge; badge 0 is one.
  const badge = await employees.by.badge.get({ department: 'Sales', badge: 0 });
  console.log(`badge 0: ${badge?.firstName} ${badge?.lastName}, employee ${badge?.id}: ${taken()}`);

  // A change of the email moves its copy in the same transaction.
  await employees.update({ department: 'Sales', id: 223 }, (current) => ({
    ...current,
    email: 'jun@contoso.com',
  }));
  console.log(`update: ${taken()}`);

  // Nobody else can have the email.
  try {
    await employees.insert({
      department: 'Sales',
      id: 224,
      firstName: 'Jun',
      lastName: 'Jung',
      email: 'jun@contoso.com',
    });
  } catch (error) {
    if (!(error instanceof IndexValueTakenError)) throw error;
    console.log(`refused: ${error.message}`);
  }
} finally {
  await client.deleteTable();
}
