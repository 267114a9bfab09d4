// The ten latest expense claims of an employee, found by one read.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  double,
  Instant,
  instant,
  key,
  logTailOf,
  openTable,
  string,
} from 'tabularium/modeling';

const ExpenseClaim = defineEntity({
  type: 'ExpenseClaim',
  properties: { employee: string(), submittedAt: instant(), id: string(), amount: double() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`${p.submittedAt.descending()}_${p.id}`,
});

// The same the other way round, for readers who follow a log from its beginning.
const Payment = defineEntity({
  type: 'Payment',
  properties: { employee: string(), paidAt: instant(), id: string(), amount: double() },
  partitionKey: (p) => key`paid_${p.employee}`,
  rowKey: (p) => key`${p.paidAt.ascending()}_${p.id}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'logtailexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const claims = logTailOf(ExpenseClaim, table, { time: 'submittedAt', id: 'id' });

  const employee = '000123';
  for (let amount = 1; amount <= 30; amount += 1) await claims.append({ employee, amount });

  requests.length = 0;
  const latest = await claims.latest({ employee: '000123' }, 10);
  console.log(`latest: ${latest.map(({ amount }) => amount).join(' ')}`);
  console.log(`requests: ${requests.join(', ')}`);

  const [newest] = latest;
  if (newest !== undefined) {
    const { rowKey } = claims.entities.codec.key(newest);
    const inverted = BigInt(rowKey.slice(0, 19));
    const maximum = Instant.parse('9999-12-31T23:59:59.9999999Z').ticks;
    console.log(`the ticks are back: ${maximum - inverted === newest.submittedAt.ticks}`);

    const from = Instant.ofTicks(newest.submittedAt.ticks - 600_000_000n);
    const query = claims.between({ employee: '000123' }, { from, to: newest.submittedAt });
    console.log(`${query.plan.class}: ${(await query.toArray({ max: 100 })).length} of a minute`);
  }

  const payments = logTailOf(Payment, table, { time: 'paidAt', id: 'id' });
  for (const amount of [10, 20, 30]) await payments.append({ employee, amount });
  const earliest = await payments.earliest({ employee: '000123' }, 2);
  console.log(`earliest: ${earliest.map(({ amount }) => amount).join(' ')}`);
} finally {
  await client.deleteTable();
}
