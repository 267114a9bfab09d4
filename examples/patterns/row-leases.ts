// One worker at a time: leases of rows that fence late holders off. Runs with the cloud service,
// Azurite and this server: set AZURE_STORAGE_CONNECTION_STRING, or start either of the latter two.

import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  enumeration,
  key,
  LeaseLostError,
  openTable,
  string,
} from 'tabularium/modeling';
import { LeaseHeldError, rowLeasesOf } from 'tabularium/modeling/row-leases';

const Report = defineEntity({
  type: 'Report',
  properties: {
    customer: string(),
    month: string(),
    state: enumeration('wanted', 'sent').default('wanted'),
  },
  partitionKey: (p) => key`${p.customer}`,
  rowKey: (p) => key`report_${p.month}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'rowleasesexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const leases = rowLeasesOf(Report, table, { holder: 'worker 1', durationMs: 30_000 });
  const others = rowLeasesOf(Report, table, { holder: 'worker 2', durationMs: 30_000 });
  const may = { customer: 'contoso', month: '2014-05' };
  await leases.entities.insert(may);

  const send = (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    return Promise.resolve();
  };
  requests.length = 0;
  await leases.withLease(may, async (lease, signal) => {
    await send(signal);
    await lease.update((report) => ({ ...report, state: 'sent' }));
  });
  console.log(`sent: ${requests.join(', ')}`);

  const lease = await leases.acquire(may);
  try {
    await others.acquire(may);
  } catch (error) {
    if (!(error instanceof LeaseHeldError)) throw error;
    console.log(`${error.holder} has it for some more seconds`);
  }
  const waiting = others.acquire(may, { waitMs: 60_000 });
  await lease.release();
  const next = await waiting;
  console.log(`token ${lease.fenceToken}, then token ${next.fenceToken}`);

  // Somebody sees that worker 2 hangs, and frees the lease. It comes back, and is too late.
  await leases.break(may);
  try {
    await next.transact((writes) => writes.delete(Report, may, { ifMatch: 'any' }));
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    console.log('worker 2 deletes nothing any more');
  }
  console.log(`the report is ${(await leases.entities.get(may))?.state}`);
} finally {
  await client.deleteTable();
}
