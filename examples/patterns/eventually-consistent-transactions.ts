// Archives employees: their rows move from one table to another, whatever crashes on the way.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import {
  codecOf,
  defineEntity,
  entitiesOf,
  int32,
  key,
  openTable,
  string,
  type KeyOf,
} from 'tabularium/modeling';
import {
  bytesOfRow,
  defineWorkflow,
  fileIn,
  moveStep,
  rowIn,
} from 'tabularium/modeling/eventually-consistent-transactions';
import { keyPayload, queueWorkerOf, spreadQueueOf } from 'tabularium/modeling/worker';

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const currentTable = TableClient.fromConnectionString(connection, 'Current', options);
const archiveTable = TableClient.fromConnectionString(connection, 'Archive', options);
const queues = QueueServiceClient.fromConnectionString(connection);
const intents = queues.getQueueClient('intents');
const more = queues.getQueueClient('intents-2');
const poison = queues.getQueueClient('intents-poison');
await currentTable.createTable();
await archiveTable.createTable();
await intents.createIfNotExists();
await more.createIfNotExists();
await poison.createIfNotExists();

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), firstName: string(), lastName: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});
type EmployeeKey = KeyOf<typeof Employee>;
const rowKeyOf = (employee: EmployeeKey) => codecOf(Employee).key(employee);
const fileNameOf = ({ department, id }: EmployeeKey) => `${department}/${id}.json`;

const current = openTable(currentTable);
const archive = openTable(archiveTable);

const archiveEmployee = defineWorkflow('archive-employee', {
  payload: keyPayload(Employee),
  steps: [moveStep({ from: rowIn(current, rowKeyOf), to: rowIn(archive, rowKeyOf) })],
  observer: ({ step, outcome }) => console.log(`  ${step}: ${outcome}`),
});

const employees = entitiesOf(Employee, current);
const archived = entitiesOf(Employee, archive);
const jones = { department: 'Sales', id: 456 };
await employees.insert({ ...jones, firstName: 'Jun', lastName: 'Jones' });
await employees.insert({ department: 'Sales', id: 457, firstName: 'Ken', lastName: 'Kwok' });

// One request: the intent is stated. Nothing has changed yet.
await archiveEmployee.start(intents, jones);
console.log(`stated: ${(await employees.get(jones)) ? 'still current' : 'gone'}`);

// A worker takes the steps. `run({ signal })` would go on until it is told to stop.
const worker = queueWorkerOf({
  sources: [{ queue: intents, poison }],
  handlers: [archiveEmployee.handler],
});
const { handled } = await worker.drain();
console.log(`handled: ${handled}`);
console.log(`current: ${(await employees.get(jones))?.lastName ?? 'nobody'}`);
console.log(`archive: ${(await archived.get(jones))?.lastName ?? 'nobody'}`);

// Done when it resolves. A worker takes over only if this process crashes.
const { outcome } = await archiveEmployee.perform(intents, { department: 'Sales', id: 457 });
console.log(`performed: ${outcome}`);

// A message that comes twice does no harm: everything is done already.
await archiveEmployee.start(intents, jones);
await worker.drain();

// More messages than one queue takes: each goes to the next queue, and the workers serve all.
const all = spreadQueueOf([intents, more]);
for (const id of [1, 2, 3, 4]) await archiveEmployee.start(all, { department: 'Sales', id });
const workers = queueWorkerOf({
  sources: [intents, more].map((queue) => ({ queue, poison })),
  handlers: [archiveEmployee.handler],
});
console.log(`handled of two queues: ${(await workers.drain()).handled}`);

// Steps lead to blobs and files as well: what is older still goes to files of JSON.
const directory = await mkdtemp(join(tmpdir(), 'archive-'));
const exportEmployee = defineWorkflow('export-employee', {
  payload: keyPayload(Employee),
  steps: [
    moveStep({
      from: rowIn(archive, rowKeyOf),
      to: fileIn(directory, fileNameOf),
      convert: bytesOfRow,
    }),
  ],
});
await exportEmployee.perform(intents, jones);
const json = await readFile(join(directory, fileNameOf(jones)), 'utf8');
console.log(`file: ${json.slice(0, json.indexOf('"properties"'))}…`);

await rm(directory, { recursive: true });
await currentTable.deleteTable();
await archiveTable.deleteTable();
await intents.delete();
await more.delete();
await poison.delete();
