// Login attempts, kept for 60 days: a table a day, dropped when it is old.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient, TableServiceClient } from '@azure/data-tables';
import {
  boolean,
  defineEntity,
  entitiesOf,
  Instant,
  instant,
  int32,
  key,
  openAccountTables,
  openTable,
  string,
} from 'tabularium/modeling';
import { archiveDue, deleteWhere, timeBucketsOf } from 'tabularium/modeling/high-volume-delete';

const LoginAttempt = defineEntity({
  type: 'LoginAttempt',
  properties: { user: string(), at: instant(), succeeded: boolean() },
  partitionKey: (p) => key`${p.user}`,
  rowKey: (p) => key`${p.at.descending()}`,
});

const Payment = defineEntity({
  type: 'Payment',
  properties: { shop: string(), id: int32(), at: instant() },
  partitionKey: (p) => key`${p.shop}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const requests: string[] = [];
const observer = ({ kind, table }: { readonly kind: string; readonly table: string }) =>
  requests.push(`${kind} ${table}`);

const tables = openAccountTables(TableServiceClient.fromConnectionString(connection, options), {
  observer,
});
const open = (name: string) =>
  openTable(TableClient.fromConnectionString(connection, name, options), { observer });

/** The clock of this program, so that a story of months takes a moment. */
let today = Instant.parse('2014-07-31T18:00:00Z');
const clock = {
  nowMicros: () => today.toDate().getTime() * 1000,
  monotonicMs: () => today.toDate().getTime(),
};

const logins = timeBucketsOf({
  set: { prefix: 'LoginAttempts', period: 'day', retention: { days: 60 } },
  tables,
  open,
  clock,
});

try {
  console.log(`made ahead: ${(await logins.ensure({ ahead: 1 })).join(', ')}`);

  for (const day of [2, 3, 30, 31]) {
    const at = Instant.parse(
      `2014-${day < 30 ? '06' : '07'}-${String(day).padStart(2, '0')}T12:00Z`,
    );
    const attempts = entitiesOf(LoginAttempt, logins.at(at));
    await attempts.insert({ user: 'jo', at, succeeded: day !== 30 });
  }

  const time = { from: Instant.parse('2014-06-01'), to: Instant.parse('2014-08-01') };
  const all = logins.entities(LoginAttempt, { ...time, newestFirst: true });
  for await (const { at } of all.query({
    partition: { user: 'jo' },
    where: (p) => p.succeeded.eq(true),
  })) {
    console.log(`${at.toString()} in`);
  }

  today = Instant.parse('2014-08-02T03:00:00Z');
  requests.length = 0;
  const { dropped, ensured } = await logins.rotate();
  console.log(`dropped ${dropped.join(', ')}; made ${ensured.join(', ')}`);
  console.log(`requests:\n  ${requests.join('\n  ')}`);

  // What no table can take along: the attempts of one user in one table.
  requests.length = 0;
  const attempts = entitiesOf(LoginAttempt, logins.at(Instant.parse('2014-07-31')));
  const ofJo = { partition: { user: 'jo' } };
  const found = await deleteWhere(
    attempts,
    { ...ofJo, where: (p) => p.succeeded.eq(true) },
    { dryRun: true },
  );
  console.log(`a dry run found ${found.found}, with ${requests.length} request`);
  const { deleted } = await deleteWhere(attempts, {
    ...ofJo,
    where: (p) => p.succeeded.eq(true),
  });
  console.log(`deleted ${deleted}`);

  // What must be kept for longer goes to an archive, by whole months.
  for (const name of ['payments', 'oldpayments']) await tables.create(name);
  const payments = entitiesOf(Payment, open('payments'));
  for (const [id, at] of ['2014-05-30', '2014-06-30', '2014-07-30'].entries()) {
    await payments.insert({ shop: 'berlin', id, at: Instant.parse(at) });
  }
  const { archived, through, next } = await archiveDue({
    name: 'payments',
    control: open('payments'),
    from: payments,
    to: entitiesOf(Payment, open('oldpayments')),
    convert: ({ shop, id, at }) => ({ shop, id, at }),
    period: 'month',
    keep: { months: 1 },
    queryBefore: (moment) => ({ where: (p) => p.at.lt(Instant.ofDate(moment)) }),
    clock,
  });
  console.log(`archived ${archived} from before ${through.toISOString()}`);
  console.log(`again at ${next.toISOString()}`);
} finally {
  for (const { name } of await logins.list()) await tables.drop(name);
  for (const name of ['payments', 'oldpayments']) await tables.drop(name);
}
