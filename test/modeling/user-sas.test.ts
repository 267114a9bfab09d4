import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { AzureNamedKeyCredential, AzureSASCredential, TableClient } from '@azure/data-tables';
import { manualClock } from '../../src/base/clock.js';
import { defineEntity, int32, key, string } from '../../src/modeling/index.js';
import {
  removeAccessPolicy,
  setAccessPolicy,
} from '../../src/modeling/patterns/user-sas/access-policy.js';
import { SasCache } from '../../src/modeling/patterns/user-sas/sas-cache.js';
import { sasFor, type SasSettings } from '../../src/modeling/patterns/user-sas/user-sas.js';
import { startAzurite } from '../support/azurite.js';

// Tokens: their texts against the rules of the service, and against Azurite, which checks signatures,
// permissions and expiry, though not the ranges of keys.

const azurite = await startAzurite('table');
after(() => azurite[Symbol.asyncDispose]());

const LoginAttempt = defineEntity({
  type: 'LoginAttempt',
  properties: { user: string(), number: int32(), address: string() },
  partitionKey: (p) => key`${p.user}`,
  rowKey: (p) => key`login_${p.number.padded(4)}`,
});

const now = Date.UTC(2024, 4, 31, 12, 0, 0) * 1000 + 123_456;
const accountKey = 'c2VjcmV0';
const settings: SasSettings = {
  table: 'Logins',
  credential: new AzureNamedKeyCredential('account', accountKey),
  clock: manualClock(now),
};
const jones = { partition: { user: "j o'nes" } };

/** The signature by the rules for tables: the twelve lines, in their order. */
function signatureOf(query: URLSearchParams): string {
  const field = (name: string) => query.get(name) ?? '';
  const lines = [
    field('sp'),
    field('st'),
    field('se'),
    '/table/account/logins',
    field('si'),
    field('sip'),
    field('spr'),
    field('sv'),
    field('spk'),
    field('srk'),
    field('epk'),
    field('erk'),
  ];
  const hmac = createHmac('sha256', Buffer.from(accountKey, 'base64'));
  return hmac.update(lines.join('\n'), 'utf8').digest('base64');
}

describe('a token for a user', () => {
  it('carries its range, permissions and end, and a signature over all of it', () => {
    const { token, expiresAtMicros, scope } = sasFor(LoginAttempt, {
      ...settings,
      ...jones,
      rows: {},
      permissions: ['update', 'read'],
      lifetimeMs: 3_600_000,
    });
    const query = new URLSearchParams(token);
    const { sig, sv, ...fields } = Object.fromEntries(query);
    assert.deepEqual(fields, {
      spr: 'https',
      se: '2024-05-31T13:00:00Z',
      sp: 'ru',
      tn: 'Logins',
      spk: "j o'nes",
      epk: "j o'nes",
      srk: 'login_',
      erk: 'login_\ufffd',
    });
    assert.match(sv ?? '', /^\d{4}-\d\d-\d\d$/);
    assert.equal(sig, signatureOf(query));
    assert.equal(expiresAtMicros, Date.UTC(2024, 4, 31, 13) * 1000);
    assert.equal(scope.startRowKey, 'login_');
  });

  it('names a stored policy instead of terms of its own', () => {
    const { token, expiresAtMicros } = sasFor(LoginAttempt, {
      ...settings,
      ...jones,
      policy: 'readers',
    });
    const query = new URLSearchParams(token);
    assert.deepEqual([query.get('si'), query.get('sp'), query.get('se')], ['readers', null, null]);
    assert.equal(query.get('sig'), signatureOf(query));
    assert.equal(expiresAtMicros, undefined);
  });

  it('may be limited to addresses, and allowed without TLS for a server at hand', () => {
    const { token } = sasFor(LoginAttempt, {
      ...settings,
      ...jones,
      permissions: ['read'],
      lifetimeMs: 60_000,
      protocol: 'https,http',
      ipRange: { start: '10.0.0.1', end: '10.0.0.9' },
    });
    const query = new URLSearchParams(token);
    assert.deepEqual([query.get('spr'), query.get('sip')], ['https,http', '10.0.0.1-10.0.0.9']);
    assert.equal(query.get('sig'), signatureOf(query));
  });

  it('is refused when it would allow nothing', () => {
    const make = (permissions: readonly 'read'[], lifetimeMs: number) =>
      sasFor(LoginAttempt, { ...settings, ...jones, permissions, lifetimeMs });
    assert.throws(() => make([], 1000), /without permissions/);
    for (const lifetimeMs of [0, -1, 500, Number.NaN, Infinity]) {
      assert.throws(() => make(['read'], lifetimeMs), /would have expired/);
    }
  });
});

describe('tokens at a service', () => {
  const connection = azurite.connectionString;
  const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
  const field = (name: string) => new RegExp(`${name}=([^;]+)`).exec(connection)?.[1] ?? '';
  const credential = new AzureNamedKeyCredential(field('AccountName'), field('AccountKey'));
  let tables = 0;

  async function newTable() {
    tables += 1;
    const table = `Logins${tables}`;
    const owner = TableClient.fromConnectionString(connection, table, options);
    await owner.createTable();
    await owner.createEntity({ partitionKey: 'jones', rowKey: 'login_0001', address: '10.0.0.1' });
    const protocol = 'https,http' as const;
    const terms = { table, credential, protocol, partition: { user: 'jones' } };
    const clientOf = (token: string) =>
      new TableClient(field('TableEndpoint'), table, new AzureSASCredential(token), options);
    return { owner, terms, clientOf };
  }

  const status = (work: Promise<unknown>) =>
    work.then(
      () => 200,
      (error: unknown) => Reflect.get(error as object, 'statusCode') as number,
    );
  const entity = { partitionKey: 'jones', rowKey: 'login_0002' };
  /** Azurite refuses a policy without a start. */
  const always = { startsOn: new Date(0), expiresOn: new Date(Date.UTC(2100, 0, 1)) };

  it('allow what they say and nothing else', async () => {
    const { terms, clientOf } = await newTable();
    const lifetimeMs = 600_000;
    const reader = clientOf(
      sasFor(LoginAttempt, { ...terms, permissions: ['read'], lifetimeMs }).token,
    );
    assert.equal(await status(reader.getEntity('jones', 'login_0001')), 200);
    assert.equal(await status(reader.createEntity(entity)), 403);
    const writer = clientOf(
      sasFor(LoginAttempt, { ...terms, permissions: ['add'], lifetimeMs }).token,
    );
    assert.equal(await status(writer.createEntity(entity)), 200);
    assert.equal(await status(writer.deleteEntity('jones', 'login_0002')), 403);
  });

  it('are refused after their end', async () => {
    const { terms, clientOf } = await newTable();
    const clock = manualClock();
    const late = sasFor(LoginAttempt, { ...terms, permissions: ['read'], lifetimeMs: 5000, clock });
    assert.equal(await status(clientOf(late.token).getEntity('jones', 'login_0001')), 403);
  });

  it('are renewed by a cache before that', async () => {
    const { terms, clientOf } = await newTable();
    const cache = new SasCache((user) =>
      sasFor(LoginAttempt, {
        ...terms,
        partition: { user },
        permissions: ['read'],
        lifetimeMs: 600_000,
      }),
    );
    const token = await cache.get('jones');
    assert.equal(await status(clientOf(token).getEntity('jones', 'login_0001')), 200);
    assert.equal(await cache.get('jones'), token);
  });

  it('of a policy change with it, and are revoked with it', async () => {
    const { owner, terms, clientOf } = await newTable();
    await setAccessPolicy(owner, { id: 'readers', permissions: ['delete', 'read'], ...always });
    const client = clientOf(sasFor(LoginAttempt, { ...terms, policy: 'readers' }).token);
    assert.equal(await status(client.getEntity('jones', 'login_0001')), 200);
    assert.equal(await status(client.createEntity(entity)), 403);
    await setAccessPolicy(owner, { id: 'readers', permissions: ['add'], ...always });
    assert.equal(await status(client.createEntity(entity)), 200);
    assert.equal(await status(client.getEntity('jones', 'login_0001')), 403);
    assert.equal(await removeAccessPolicy(owner, 'readers'), true);
    assert.equal(await status(client.createEntity({ ...entity, rowKey: 'login_0003' })), 403);
    assert.equal(await removeAccessPolicy(owner, 'readers'), false);
  });

  it('have at most five policies, none of which another replaces unasked', async () => {
    const { owner } = await newTable();
    for (const id of ['1', '2', '3', '4', '5']) {
      await setAccessPolicy(owner, { id, permissions: ['read'], ...always });
    }
    const sixth = setAccessPolicy(owner, { id: '6', permissions: ['read'], ...always });
    await assert.rejects(sixth, /at most 5 policies; there are 1, 2, 3, 4, 5/);
    await setAccessPolicy(owner, { id: '3', permissions: ['add'], ...always });
    const policies = await owner.getAccessPolicy();
    assert.deepEqual(policies.map(({ id }) => id).toSorted(), ['1', '2', '3', '4', '5']);
    const nameless = setAccessPolicy(owner, { id: '', permissions: ['read'], ...always });
    await assert.rejects(nameless, /1 to 64 characters/);
  });
});
