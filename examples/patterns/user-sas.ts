// Tokens that let each user reach their own entities and nothing else, made beside the account key.
// Works with the cloud service and Azurite; making tokens sends nothing.
import { AzureNamedKeyCredential, AzureSASCredential, TableClient } from '@azure/data-tables';
import { defineEntity, int32, key, SasCache, sasFor, string } from 'tabularium/modeling';

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
  sasFor(LoginAttempt, {
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
const logins = sasFor(LoginAttempt, {
  table: 'Logins',
  credential,
  partition: { user: 'jonesj' },
  rows: {},
  permissions: ['read', 'add'],
  lifetimeMs: 600_000,
});
console.log(`rows from ${logins.scope.startRowKey}`);

// Where tokens are used: one for each user, made again shortly before it ends.
const cache = new SasCache(issue);
const tokens = await Promise.all([cache.get('jonesj'), cache.get('jonesj'), cache.get('smith')]);
console.log(`${new Set(tokens).size} tokens for three calls`);
const mine = new TableClient(
  endpoint,
  'Logins',
  new AzureSASCredential(await cache.get('jonesj')),
  {
    allowInsecureConnection: true,
  },
);
console.log(`a client of ${mine.tableName} that has no account key`);
