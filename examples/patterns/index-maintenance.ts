// A new index for a table that is in use: filled while others write, verified, and mended after
// somebody wrote past it.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  bulk,
  defineEntity,
  entitiesOf,
  int32,
  key,
  openTable,
  string,
  writesOf,
} from 'tabularium/modeling';
import {
  indexedEntitiesOf,
  indexEntity,
  samePartition,
  withIndexes,
} from 'tabularium/modeling/indexes';

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), lastName: string(), email: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const EmployeeIndexes = withIndexes(Employee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  lastName: indexEntity({ place: 'same-partition', rowKey: (p) => key`${p.lastName}` }),
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'indexmaintenance', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const table = openTable(client);

  // Employees from the time before there were indexes.
  const writes = writesOf(Employee);
  const old = Array.from({ length: 150 }, (_, id) =>
    writes.insert({
      department: id % 2 === 0 ? 'Sales' : 'Marketing',
      id,
      lastName: id % 10 === 0 ? 'Jones' : `Name${id % 50}`,
      email: `mail${id}@contoso.com`,
    }),
  );
  await bulk(table, old);

  // 1. Every writer is deployed with the indexes. One of them is at work all the while.
  const employees = indexedEntitiesOf(EmployeeIndexes, { table });
  const isFilled = new AbortController();
  let changes = 0;
  const writer = (async () => {
    for (let id = 0; !isFilled.signal.aborted; id = (id + 37) % 150) {
      const department = id % 2 === 0 ? 'Sales' : 'Marketing';
      await employees.update({ department, id }, (current) => ({
        ...current,
        email: `new${id}@contoso.com`,
      }));
      changes += 1;
    }
  })();

  // 2. What was there before is filled in. A cursor that is stored lets another process go on.
  for (const index of ['email', 'lastName'] as const) {
    let cursor: string | undefined;
    const counts = { fill: 0, check: 0 };
    for await (const page of employees.backfill(index)) {
      counts[page.phase] += page.checked;
      for (const drift of page.drifts) console.log('cannot be mended:', drift);
      cursor = page.cursor;
    }
    console.log(`${index}: ${counts.fill} filled, complete: ${cursor === undefined}`);
  }
  isFilled.abort();
  await writer;
  console.log(`the writer went on: ${changes > 0}`);

  // 3. Verify at any time: page by page, in both directions, in little memory.
  let compared = 0;
  let found = 0;
  for await (const { checked, drifts } of employees.verify()) {
    compared += checked;
    found += drifts.length;
  }
  console.log(`verified: ${compared} comparisons, ${found} differences`);

  // Somebody writes past the indexes.
  const alone = entitiesOf(Employee, table);
  await alone.merge(
    { department: 'Sales', id: 0 },
    { email: 'past@contoso.com' },
    { ifMatch: 'any' },
  );
  await alone.delete({ department: 'Sales', id: 2 }, { ifMatch: 'any' });
  for await (const { drifts } of employees.verify()) {
    for (const { kind, index, key: at } of drifts) console.log(`  ${kind} ${index} ${at.rowKey}`);
  }

  // 4. Rebuild mends what differs, and nothing else, while others write.
  let repaired = 0;
  for await (const page of employees.rebuild()) repaired += page.repaired;
  console.log(`repaired: ${repaired}`);
} finally {
  await client.deleteTable();
}
