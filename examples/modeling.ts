// Employees and departments: definitions, operations, queries, transactions, bulk work and errors.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  bulk,
  ConditionFailedError,
  dateTime,
  defineEntity,
  entitiesOf,
  EntityExistsError,
  enumeration,
  int32,
  json,
  key,
  openTable,
  string,
  transaction,
  TransactionFailedError,
  writesOf,
  type CreateOf,
  type ReadOf,
} from 'tabularium/modeling';

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'modelingexample', {
  allowInsecureConnection: true,
});
await client.createTable();

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    firstName: string(),
    lastName: string(),
    level: enumeration('junior', 'senior').default('junior'),
    hiredAt: dateTime(),
    email: string().optional(),
    skills: json<readonly string[]>().default(() => []),
    rating: int32().named('Manager Rating').optional(),
    search: string().computed({ lastName: string() }, ({ lastName }) => lastName.toLowerCase()),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

type NewEmployee = CreateOf<typeof Employee>;
type EmployeeRead = ReadOf<typeof Employee>;

const fullName = ({ firstName, lastName }: EmployeeRead): string => `${firstName} ${lastName}`;

try {
  const sent: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => sent.push(kind) });
  const employees = entitiesOf(Employee, table);
  const jones: NewEmployee = {
    department: 'Sales',
    id: 123,
    firstName: 'Jun',
    lastName: 'Jones',
    hiredAt: new Date('2024-05-31'),
  };

  const inserted = await employees.insert(jones);
  console.log(`${fullName(inserted)} is ${inserted.level}, found as '${inserted.search}'`);
  const found = await employees.get({ department: 'Sales', id: 123 });
  const nobody = await employees.get({ department: 'Sales', id: 999 });
  console.log(`found ${found?.lastName}, and ${nobody === undefined ? 'nobody' : 'somebody'}`);

  const at = { department: 'Sales', id: 123 };
  if (found !== undefined) await employees.merge(found, { email: 'jonesj@contoso.com' });
  await employees.merge(at, { rating: 4 }, { ifMatch: 'any' });
  const promoted = await employees.update(at, (current) => ({ ...current, level: 'senior' }));
  console.log(`${promoted.level}, rated ${promoted.rating}, ${promoted.email}`);

  const people = Array.from({ length: 250 }, (_, id) => ({
    department: id % 5 === 0 ? 'Marketing' : 'Sales',
    id,
    firstName: 'Jo',
    lastName: id % 10 === 3 ? 'Smith' : `Name${id}`,
    hiredAt: new Date('2024-06-01'),
  }));
  const make = writesOf(Employee);
  const report = await bulk(
    table,
    people.map((person) => make.upsertReplace(person)),
  );
  console.log(`${report.applied} written by ${report.requests} requests, ${report.failed} failed`);

  const range = employees.query({
    partition: { department: 'Sales' },
    rowKeyFrom: { id: 100 },
    rowKeyBefore: { id: 200 },
  });
  const smiths = employees.query({
    partition: { department: 'Sales' },
    where: (p) => p.lastName.eq('Smith').and(p.hiredAt.ge(new Date('2024-01-01'))),
    select: ['firstName', 'lastName'],
  });
  const everywhere = employees.scanTable({ where: (p) => p.lastName.eq('Smith') });
  for (const query of [range, smiths, everywhere]) {
    const items = await query.toArray({ max: 1000 });
    console.log(`${query.plan.class}: ${items.length} in ${query.requests} request`);
  }

  const page = await range.page({ limit: 30 });
  const next = await range.page({ limit: 30, ...(page.cursor && { cursor: page.cursor }) });
  console.log(`pages from ${page.items[0]?.id} and from ${next.items[0]?.id}`);

  const both = employees.queryPartitions({
    partitions: [{ department: 'Sales' }, { department: 'Marketing' }],
    order: 'row-key',
  });
  const ids = (await both.first(6)).map(({ id }) => id);
  console.log(`by id, whatever the department: ${ids.join(', ')}`);

  const Department = defineEntity({
    type: 'Department',
    properties: { department: string(), name: string(), employees: int32() },
    partitionKey: (p) => key`${p.department}`,
    rowKey: () => key`department`,
  });
  const departments = entitiesOf(Department, table);
  const sales = await departments.insert({ department: 'Sales', name: 'Sales', employees: 200 });
  await transaction(table)
    .insert(Employee, { ...jones, id: 1000 })
    .replace(Department, { ...sales, employees: sales.employees + 1 })
    .run();
  const counted = await departments.get({ department: 'Sales' });
  console.log(`${counted?.employees} in Sales`);

  try {
    await employees.insert(jones);
  } catch (error) {
    if (!(error instanceof EntityExistsError)) throw error;
    console.log(`${error.status}: somebody has the id ${error.request?.rowKey}`);
  }
  try {
    // Since then somebody else has counted one more.
    await departments.replace({ ...sales, employees: 0 });
  } catch (error) {
    if (!(error instanceof ConditionFailedError)) throw error;
    console.log(`${error.status}: the department is not as it was read`);
  }
  try {
    await transaction(table)
      .insert(Employee, { ...jones, id: 1001 })
      .insert(Employee, jones)
      .run();
  } catch (error) {
    if (!(error instanceof TransactionFailedError)) throw error;
    console.log(`operation ${error.index} of the transaction: ${error.reason.name}`);
  }
  console.log(`${sent.length} requests in all, the last one a ${sent.at(-1)}`);
} finally {
  await client.deleteTable();
}
