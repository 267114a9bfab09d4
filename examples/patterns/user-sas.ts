// Tokens that let each user reach their own entities and nothing else, made beside the account key.
import { AzureNamedKeyCredential, AzureSASCredential, TableClient } from '@azure/data-tables';
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  openTable,
  RequestError,
  string,
} from 'tabularium/modeling';
import {
  removeAccessPolicy,
  sasCacheOf,
  userSasOf,
  setAccessPolicy,
} from 'tabularium/modeling/user-sas';

const LoginAttempt = defineEntity({
  type: 'LoginAttempt',
  properties: { user: string(), number: int32(), address: string() },
  partitionKey: (p) => key`${p.user}`,
  rowKey: (p) => key`login_${p.number.padded(4)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? '';
const field = (name: string, otherwise: string) =>
  new RegExp(`${name}=([^;]+)`).exec(connection)?.[1] ?? otherwise;
const developmentKey =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const account = field('AccountName', 'devstoreaccount1');
const credential = new AzureNamedKeyCredential(account, field('AccountKey', developmentKey));
const endpoint = field('TableEndpoint', `http://127.0.0.1:10002/${account}`);

// Where the account key is: a token for a user's own partition, to read it for an hour.
const issue = (user: string) =>
  userSasOf(LoginAttempt, {
    table: 'Logins',
    credential,
    partition: { user },
    permissions: ['read'],
    lifetimeMs: 3_600_000,
    protocol: 'https,http',
  });
const { token, scope, expiresAtMicros } = issue('jonesj');
console.log(`reach: ${JSON.stringify(scope)}`);
console.log(`ends ${(expiresAtMicros ?? 0) > Date.now() * 1000 ? 'later' : 'never'}`);
for (const [name, value] of new URLSearchParams(token)) {
  if (!['sig', 'se', 'sv'].includes(name)) console.log(`${name}=${value}`);
}

// Only the rows that begin as those of the type do, whatever else is in the partition.
const logins = userSasOf(LoginAttempt, {
  table: 'Logins',
  credential,
  partition: { user: 'jonesj' },
  rows: {},
  permissions: ['read', 'add'],
  lifetimeMs: 600_000,
  protocol: 'https,http',
});
console.log(`rows from ${logins.scope.startRowKey}`);

// Where tokens are used: one for each user, made again shortly before it ends.
const cache = sasCacheOf(issue);
const tokens = await Promise.all([cache.get('jonesj'), cache.get('jonesj'), cache.get('smith')]);
console.log(`${new Set(tokens).size} tokens for three calls`);

// Logins of two users, stored by who has the account key.
const options = { allowInsecureConnection: true };
const owner = new TableClient(endpoint, 'Logins', credential, options);
await owner.createTable();
const all = entitiesOf(LoginAttempt, openTable(owner));
for (const user of ['jonesj', 'smith']) {
  for (const number of [1, 2]) await all.upsertReplace({ user, number, address: '10.0.0.1' });
}

// The program of a user has the token and nothing else.
const clientOf = (own: string) =>
  new TableClient(endpoint, 'Logins', new AzureSASCredential(own), options);
const mine = entitiesOf(LoginAttempt, openTable(clientOf(await cache.get('jonesj'))));
const found = await mine.query({ partition: { user: 'jonesj' } }).toArray({ max: 100 });
console.log(`own rows: ${found.length}`);

/** What the service says to a request: done, or why not. */
async function outcome(request: () => Promise<unknown>): Promise<string> {
  try {
    return (await request()) === undefined ? 'nothing there' : 'done';
  } catch (error) {
    if (error instanceof RequestError && error.status === 403) return `refused, ${error.status}`;
    throw error;
  }
}

const another = { user: 'smith', number: 1 };
console.log(`own row: ${await outcome(() => mine.get({ user: 'jonesj', number: 1 }))}`);
console.log(`another's row: ${await outcome(() => mine.get(another))}`);
const attempt = { user: 'jonesj', number: 3, address: '10.0.0.1' };
console.log(`a write with a token for reading: ${await outcome(() => mine.insert(attempt))}`);

const adding = entitiesOf(LoginAttempt, openTable(clientOf(logins.token)));
await all.deleteIfExists(attempt);
console.log(`a write with a token for adding: ${await outcome(() => adding.insert(attempt))}`);

// A token that names a policy of the table is taken back with it.
const tomorrow = new Date(Date.now() + 86_400_000);
const always = { startsOn: new Date(0), expiresOn: tomorrow };
await setAccessPolicy(owner, { id: 'readers', permissions: ['read'], ...always });
const byPolicy = userSasOf(LoginAttempt, {
  table: 'Logins',
  credential,
  partition: { user: 'jonesj' },
  policy: 'readers',
  protocol: 'https,http',
});
const reader = entitiesOf(LoginAttempt, openTable(clientOf(byPolicy.token)));
const read = () => reader.get({ user: 'jonesj', number: 1 });
console.log(`by the policy: ${await outcome(read)}`);
await removeAccessPolicy(owner, 'readers');
console.log(`without it: ${await outcome(read)}`);
