// Entities of several types in one table: told apart when they are read, or taken as bags.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  double,
  entitiesOf,
  int32,
  key,
  mixedTableOf,
  openTable,
  string,
  updateProperties,
  upgradeRows,
} from 'tabularium/modeling';

// What employees of all kinds share.
const person = { department: string(), id: int32(), name: string() };

const Employee = defineEntity({
  type: 'Employee',
  properties: { ...person, salary: double() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
});

const Contractor = defineEntity({
  type: 'Contractor',
  properties: { ...person, agency: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
});

// A later program knows first and last names; rows of the version before are read as it has them.
const EmployeeWithNames = defineEntity({
  type: 'Employee',
  version: 2,
  properties: {
    department: string(),
    id: int32(),
    firstName: string(),
    lastName: string(),
    salary: double(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
}).upgrading(Employee, ({ name, ...rest }) => {
  const [firstName = '', lastName = ''] = name.split(' ');
  return { ...rest, firstName, lastName };
});

// Told apart by the prefix of its RowKey alone.
const Department = defineEntity({
  type: 'Department',
  properties: { department: string(), floor: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`DEPARTMENT_${p.department}`,
  system: { type: false },
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'inheritanceexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const table = openTable(client);
  const department = 'SALES';
  await entitiesOf(Department, table).insert({ department, floor: 3 });
  await entitiesOf(Employee, table).insert({ department, id: 123, name: 'Jo', salary: 4000 });
  await entitiesOf(Contractor, table).insert({
    department,
    id: 124,
    name: 'Al',
    agency: 'Fabrikam',
  });
  await client.createEntity({ partitionKey: 'SALES', rowKey: 'PRINTER_7', pages: 10 });

  // A resolver: each row as what it is.
  const mixed = mixedTableOf(table, Employee, Contractor, Department);
  const partition = { department: 'SALES' };
  for await (const found of mixed.query({ partition })) {
    switch (found.type) {
      case 'Employee':
        console.log(`${found.entity.name} earns ${found.entity.salary}`);
        break;
      case 'Contractor':
        console.log(`${found.entity.name} comes from ${found.entity.agency}`);
        break;
      case 'Department':
        console.log(`the department is on floor ${found.entity.floor}`);
        break;
      case undefined:
        console.log(`something else: ${found.row.rowKey}`);
        break;
    }
  }

  // Some of the types, each with a condition of its own.
  const costly = mixed.query({
    partition,
    where: { Employee: (p) => p.salary.gt(3000), Contractor: 'all' },
  });
  for await (const { type, entity } of costly) console.log(`${type} ${entity.name}`);

  // A known type: rows of other types are passed over.
  const query = entitiesOf(Employee, table).query({ partition });
  console.log(`employees: ${(await query.toArray({ max: 10 })).length}`);

  // A bag of properties: no type is needed to change one that is there.
  const printer = { partitionKey: 'SALES', rowKey: 'PRINTER_7' };
  const changed = await updateProperties(table, printer, ({ pages }) =>
    pages?.type === 'Int32' ? { pages: { ...pages, value: pages.value + 1 } } : undefined,
  );
  console.log(`pages: ${String(changed['pages']?.value)}`);

  // Rows of an older version: read as they should be, and stored so when they are written.
  const named = entitiesOf(EmployeeWithNames, table);
  console.log(`first name: ${(await named.get({ department, id: 123 }))?.firstName}`);
  const { upgraded } = await upgradeRows(named);
  console.log(`upgraded: ${upgraded}`);
} finally {
  await client.deleteTable();
}
