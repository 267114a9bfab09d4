// A table that is declared once: employees found by e-mail in partitions of their own, counted in
// their department, with the name of the lead copied there. Whatever writes keeps all of it.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  bulk,
  dataSeriesOf,
  defineEntity,
  int32,
  key,
  openTable,
  string,
  writesOf,
} from 'tabularium/modeling';
import { otherPartition, samePartition, withIndexes } from 'tabularium/modeling/indexes';
import { announcement, copies, counter, openModel } from 'tabularium/modeling/model';
import { defineMessage, handle, keyPayload } from 'tabularium/modeling/worker';

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), lastName: string(), email: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const Department = defineEntity({
  type: 'Department',
  properties: {
    department: string(),
    leadId: int32(),
    leadName: string().optional(),
    count: int32().default(0),
    budget: int32().default(0),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`department`,
});

const Hires = defineEntity({
  type: 'Hires',
  properties: { department: string(), year: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`hires_${p.year}`,
});

// Sent for each employee who comes.
const Hired = defineMessage('hired', { payload: keyPayload(Employee) });
const welcome = handle(Hired, async ({ department, id }) => {
  console.log(`welcome, employee ${id} of ${department}`);
  await Promise.resolve();
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const client = TableClient.fromConnectionString(connection, 'models', options);
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });

  const model = openModel({
    table,
    entities: {
      employees: withIndexes(Employee, {
        email: otherPartition({
          partitionKey: (p) => key`email_${p.email}`,
          rowKey: (p) => key`${p.department}_${p.id.padded(6)}`,
        }),
        name: samePartition({ rowKey: (p) => key`name_${p.lastName}_${p.id.padded(6)}` }),
      }),
      departments: Department,
    },
    keeps: [
      counter({
        source: Employee,
        view: Department,
        measures: { count: () => 1 },
        ifAbsent: 'refuse',
      }),
      copies({
        source: Employee,
        target: Department,
        targetsOf: ({ department }) => [{ department }],
        sourceOf: ({ department, leadId }) => ({ department, id: leadId }),
        copy: (lead) => ({ leadName: lead?.lastName }),
      }),
      announcement({
        source: Employee,
        message: Hired,
        of: ({ before, after }) => (before === undefined ? after : undefined),
      }),
    ],
    handlers: [welcome],
  });
  const { employees, departments } = model.entities;

  await departments.insert({ department: 'Sales', leadId: 1 });
  requests.length = 0;
  await model
    .transaction()
    .insert(Employee, { department: 'Sales', id: 1, lastName: 'Jones', email: 'jones@contoso.com' })
    .increment(Department, { department: 'Sales' }, 'budget', 100)
    .run();
  console.log(`one transaction: ${requests.splice(0).join(', ')}`);
  const sales = await departments.get({ department: 'Sales' });
  console.log(`count ${sales?.count}, lead ${sales?.leadName}, budget ${sales?.budget}`);

  // Every other way to write keeps the same.
  const make = writesOf(Employee);
  await bulk(
    model.table,
    [2, 3, 4].map((id) =>
      make.insert({
        department: 'Sales',
        id,
        lastName: `Smith${id}`,
        email: `smith${id}@contoso.com`,
      }),
    ),
  );
  await employees.update({ department: 'Sales', id: 1 }, (current) => ({
    ...current,
    lastName: 'Brown',
  }));
  const then = await departments.get({ department: 'Sales' });
  console.log(`count ${then?.count}, lead ${then?.leadName}`);

  // What a pattern changes joins a transaction.
  const hires = dataSeriesOf(Hires, model.table, { slots: 12, value: int32() });
  await model
    .transaction()
    .insert(Employee, { department: 'Sales', id: 5, lastName: 'Kwok', email: 'kwok@contoso.com' })
    .join(hires.adding({ department: 'Sales', year: '2024' }, 6, 1))
    .run();
  const { values } = await hires.read({ department: 'Sales', year: '2024' });
  console.log(`hired in July: ${values[6]}`);

  // What is in other partitions follows. `model.run()` does it until the model is closed.
  await model.drain();
  const byEmail = { email: 'smith3@contoso.com' };
  for await (const found of employees.by.email.query({ partition: byEmail })) {
    console.log(`${byEmail.email}: ${found.lastName} in ${found.department}`);
  }

  for await (const drift of model.verify()) console.log('differs:', drift);
  await model.close();
} finally {
  await client.deleteTable();
}
