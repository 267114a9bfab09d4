// What the advisor says of the designs of the table-design guide, and of a live table.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  bulk,
  defineEntity,
  entitiesOf,
  enumeration,
  instant,
  int32,
  key,
  openTable,
  string,
  writesOf,
} from 'tabularium/modeling';
import {
  explain,
  measure,
  reportText,
  uniform,
  zipf,
  type Operation,
  type PriceTable,
  type Report,
} from 'tabularium/modeling/advisor';
import { indexTable, samePartition, withIndexes } from 'tabularium/modeling/indexes';

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    firstName: string(),
    lastName: string(),
    email: string(),
    gender: enumeration('female', 'male'),
    age: int32(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

/** A company of 100,000 people. */
const company = {
  rows: 100_000,
  partitions: zipf(40, 1),
  properties: {
    department: { size: { average: 9, maximum: 40 } },
    firstName: { size: { average: 6, maximum: 40 } },
    lastName: { size: { average: 7, maximum: 40 }, values: zipf(20_000, 0.7) },
    email: { size: { average: 24, maximum: 120 } },
  },
} as const;

function title(text: string): void {
  console.log(`\n${text}\n${'='.repeat(text.length)}`);
}

function printFindings({ findings }: Report): void {
  if (findings.length === 0) console.log('nothing found');
  for (const { severity, code, subject, problem } of findings) {
    console.log(`${severity}: ${code}, ${subject}\n  ${problem}`);
  }
}

const operations: readonly Operation<typeof Employee>[] = [
  { kind: 'insert', perSecond: 0.1 },
  { kind: 'get', name: 'by id', perSecond: 50 },
  {
    kind: 'query',
    name: 'by email',
    perSecond: 20,
    query: { partition: { department: 'Sales' }, where: (p) => p.email.eq('jonesj@contoso.com') },
    returns: 1,
  },
];

title('Employees by department, looked up by email without an index');
printFindings(explain(Employee, { ...company, operations }));

title('The same with an index of emails in the partition, and one of genders nobody needs');
const indexed = withIndexes(Employee, {
  byEmail: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  byGender: indexTable({
    partitionKey: (p) => key`${p.gender}`,
    rowKey: (p) => key`${p.department}_${p.id.padded(6)}`,
  }),
});
printFindings(
  explain(indexed, {
    ...company,
    operations: [
      { kind: 'insert', perSecond: 0.1 },
      { kind: 'update', perSecond: 1, changes: ['age'] },
      { kind: 'get', name: 'by id', perSecond: 50 },
      { kind: 'look-up', index: 'byEmail', perSecond: 20 },
      {
        kind: 'look-up',
        index: 'byGender',
        perSecond: 0.001,
        query: { partition: { gender: 'female' } },
      },
    ],
  }),
);

/** Yours: those of your contract, on the day you decide. */
const prices: PriceTable = {
  label: 'what we pay, without tax',
  region: 'West Europe',
  asOf: '2026-11-01',
  currency: 'EUR',
  capacity: [{ upToGib: 1024, perGibMonth: 0.05 }, { perGibMonth: 0.04 }],
  per10kRequests: {
    read: 0.0004,
    query: 0.0004,
    write: 0.0004,
    delete: 0.0004,
    transaction: 0.0004,
    queue: 0.0004,
  },
};

const message = { at: instant(), source: string(), text: string() };
const logSizes = { source: { size: 12 }, text: { size: { average: 120, maximum: 2000 } } };

title('A log tail in one partition: every insert goes before the last one');
const Log = defineEntity({
  type: 'Log',
  properties: message,
  partitionKey: () => key`log`,
  rowKey: (p) => key`${p.at.descending()}_${p.source}`,
});
const logging = {
  rows: 50_000_000,
  properties: logSizes,
  operations: [{ kind: 'insert', perSecond: 3_000 }],
} as const;
printFindings(explain(Log, logging));

title('The log tail of each source: the same keys behind a part that spreads');
const SourceLog = defineEntity({
  type: 'SourceLog',
  properties: message,
  partitionKey: (p) => key`${p.source}`,
  rowKey: (p) => key`${p.at.descending()}`,
});
printFindings(explain(SourceLog, { ...logging, partitions: uniform(200) }));

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'advisorexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const table = openTable(client);
  const make = writesOf(Employee);
  const people = Array.from({ length: 400 }, (_, id) =>
    make.insert({
      department: id % 4 === 0 ? 'Marketing' : 'Sales',
      id,
      firstName: 'Jo',
      lastName: id % 10 === 0 ? 'Smith' : `Name${id}`,
      email: `mail${id}@contoso.com`,
      gender: id % 2 === 0 ? 'female' : 'male',
      age: 20 + (id % 40),
    }),
  );
  await bulk(table, people);

  title('A live table, measured');
  const measured = await measure(Employee, table, { sample: 1_000 });
  console.log(`${measured.rows} rows in ${measured.requests} request`);
  const query = entitiesOf(Employee, table).query({ partition: { department: 'Sales' } });
  console.log(`the query itself says: ${query.plan.class}\n`);
  const report = explain(
    Employee,
    {
      ...measured,
      operations: [
        { kind: 'get', perSecond: 10 },
        {
          kind: 'query',
          name: 'department',
          perSecond: 1,
          query: { partition: { department: 'Sales' } },
        },
      ],
    },
    { prices },
  );
  console.log(reportText(report));
} finally {
  await client.deleteTable();
}
