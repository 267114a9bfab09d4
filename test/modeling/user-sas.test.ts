import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { AzureNamedKeyCredential, AzureSASCredential, TableClient } from '@azure/data-tables';
import { manualClock } from '../../src/base/clock.js';
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  openTable,
  string,
} from '../../src/modeling/index.js';
import {
  removeAccessPolicy,
  setAccessPolicy,
} from '../../src/modeling/patterns/user-sas/access-policy.js';
import { sasCacheOf } from '../../src/modeling/patterns/user-sas/sas-cache.js';
import { userSasOf, type SasSettings } from '../../src/modeling/patterns/user-sas/user-sas.js';
import { startAzurite } from '../support/azurite.js';
import { withoutExtras } from '../support/extras.js';
import { startServer } from '../support/start-server.js';
import { costly } from '../support/run-length.js';

// Tokens: their text follows the rules of the service, and this server and Azurite grant what they
// allow. Azurite checks signatures, permissions and expiry, but not key ranges.

const serverClock = manualClock(Date.now() * 1000);
const own = await startServer({ clock: serverClock, checkClockSkew: false });
const azurite = withoutExtras === false ? await startAzurite('table') : undefined;
after(() => Promise.all([own[Symbol.asyncDispose](), azurite?.[Symbol.asyncDispose]()]));

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

/** The signature by the rules for tables: twelve lines in a fixed order. */
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
    const { token, expiresAtMicros, scope } = userSasOf(LoginAttempt, {
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
    const { token, expiresAtMicros } = userSasOf(LoginAttempt, {
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
    const { token } = userSasOf(LoginAttempt, {
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
      userSasOf(LoginAttempt, { ...settings, ...jones, permissions, lifetimeMs });
    assert.throws(() => make([], 1000), /without permissions/);
    for (const lifetimeMs of [0, -1, 500, Number.NaN, Infinity]) {
      assert.throws(() => make(['read'], lifetimeMs), /would have expired/);
    }
  });
});

let tables = 0;

/** Tables of `LoginAttempt` in an account, and clients that have only a token. */
function accountOf(connection: string) {
  const options = {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  };
  const field = (name: string) => new RegExp(`${name}=([^;]+)`).exec(connection)?.[1] ?? '';
  const credential = new AzureNamedKeyCredential(field('AccountName'), field('AccountKey'));
  return async () => {
    tables += 1;
    const table = `Logins${tables}`;
    const owner = TableClient.fromConnectionString(connection, table, options);
    await owner.createTable();
    const protocol = 'https,http' as const;
    const terms = { table, credential, protocol, partition: { user: 'jones' } };
    const clientOf = (token: string) =>
      new TableClient(field('TableEndpoint'), table, new AzureSASCredential(token), options);
    return { owner, terms, clientOf };
  };
}

/** The status of the error, or 200. */
const status = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: unknown) => Number(Reflect.get(error as object, 'statusCode')),
  );

const services = [
  ['this server', own.server.connectionString(), false],
  ['Azurite', azurite?.connectionString ?? '', withoutExtras],
] as const;
for (const [name, connection, skip] of services)
  describe(`tokens at ${name}`, { skip }, () => {
    const newEmptyTable = accountOf(connection);

    async function newTable() {
      const made = await newEmptyTable();
      await made.owner.createEntity({ partitionKey: 'jones', rowKey: 'login_0001' });
      return made;
    }

    const entity = { partitionKey: 'jones', rowKey: 'login_0002' };
    /** Azurite refuses a policy without a start. */
    const always = { startsOn: new Date(0), expiresOn: new Date(Date.UTC(2100, 0, 1)) };

    it('allow what they say and nothing else', async () => {
      const { terms, clientOf } = await newTable();
      const lifetimeMs = 600_000;
      const reader = clientOf(
        userSasOf(LoginAttempt, { ...terms, permissions: ['read'], lifetimeMs }).token,
      );
      assert.equal(await status(reader.getEntity('jones', 'login_0001')), 200);
      assert.equal(await status(reader.createEntity(entity)), 403);
      const writer = clientOf(
        userSasOf(LoginAttempt, { ...terms, permissions: ['add'], lifetimeMs }).token,
      );
      assert.equal(await status(writer.createEntity(entity)), 200);
      assert.equal(await status(writer.deleteEntity('jones', 'login_0002')), 403);
    });

    it('are refused after their end', async () => {
      const { terms, clientOf } = await newTable();
      const clock = manualClock();
      const late = userSasOf(LoginAttempt, {
        ...terms,
        permissions: ['read'],
        lifetimeMs: 5000,
        clock,
      });
      assert.equal(await status(clientOf(late.token).getEntity('jones', 'login_0001')), 403);
    });

    it('are renewed by a cache before that', async () => {
      const { terms, clientOf } = await newTable();
      const cache = sasCacheOf((user) =>
        userSasOf(LoginAttempt, {
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
      const client = clientOf(userSasOf(LoginAttempt, { ...terms, policy: 'readers' }).token);
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

describe('the rows that a token opens', () => {
  const newTable = accountOf(own.server.connectionString());
  const rowKeys = [
    'kogin',
    'login',
    'login_',
    'login_0001',
    'login_0002',
    'login_0003',
    'login_\ufffd',
  ];
  const beyond = ['login`', 'logio', 'photo_1'];
  const partitions = ['jone', 'jones', 'jones!', 'jonesj', 'Jones'];
  const permissions = ['read', 'add', 'update', 'delete'] as const;
  const lifetimeMs = 600_000;

  /** A table with every row key in every partition. */
  async function filled() {
    const made = await newTable();
    for (const partitionKey of partitions) {
      const keys = [...rowKeys, ...beyond];
      await made.owner.submitTransaction(
        keys.map((rowKey) => ['create', { partitionKey, rowKey, address: '10.0.0.1' }]),
      );
    }
    return made;
  }

  async function listed(client: TableClient): Promise<string[]> {
    const found: string[] = [];
    for await (const { partitionKey, rowKey } of client.listEntities()) {
      found.push(`${partitionKey}/${rowKey}`);
    }
    return found;
  }

  it('are those of its partition, to the edges, and no other', async () => {
    const { owner, terms, clientOf } = await filled();
    const client = clientOf(
      userSasOf(LoginAttempt, { ...terms, permissions, lifetimeMs: 600_000 }).token,
    );
    const all = await listed(owner);
    const mine = all.filter((name) => name.startsWith('jones/'));
    assert.equal(mine.length, rowKeys.length + beyond.length);
    assert.deepEqual(await listed(client), mine);
    for (const partitionKey of partitions) {
      const isMine = partitionKey === 'jones';
      const row = { partitionKey, rowKey: 'login_0001', address: '10.0.0.2' };
      const got = await status(client.getEntity(partitionKey, row.rowKey));
      assert.equal(got, isMine ? 200 : 404, partitionKey);
      const refused = isMine ? 200 : 403;
      assert.equal(await status(client.updateEntity(row)), refused, partitionKey);
      assert.equal(await status(client.upsertEntity({ ...row, rowKey: 'new' })), refused);
      assert.equal(await status(client.createEntity({ ...row, rowKey: 'newer' })), refused);
      assert.equal(await status(client.deleteEntity(partitionKey, 'newer')), refused);
      const batch = client.submitTransaction([['upsert', row, 'Merge']]);
      assert.equal(await status(batch), refused, partitionKey);
    }
  });

  it('are those of its range of rows, with both edges, in any operation', async () => {
    const { terms, clientOf } = await filled();
    const made = userSasOf(LoginAttempt, { ...terms, rows: {}, permissions, lifetimeMs });
    assert.deepEqual([made.scope.startRowKey, made.scope.endRowKey], ['login_', 'login_\ufffd']);
    const client = clientOf(made.token);
    const within = rowKeys.filter((rowKey) => rowKey.startsWith('login_'));
    const names = within.map((rowKey) => `jones/${rowKey}`);
    assert.deepEqual(await listed(client), names);
    for (const rowKey of [...rowKeys, ...beyond]) {
      const isMine = within.includes(rowKey);
      assert.equal(await status(client.getEntity('jones', rowKey)), isMine ? 200 : 404, rowKey);
      const row = { partitionKey: 'jones', rowKey, address: '10.0.0.2' };
      assert.equal(await status(client.updateEntity(row)), isMine ? 200 : 403, rowKey);
      assert.equal(await status(client.deleteEntity('jones', rowKey)), isMine ? 200 : 403, rowKey);
      assert.equal(await status(client.createEntity(row)), isMine ? 200 : 403, rowKey);
    }
  });

  it('are one row when its keys are whole', async () => {
    const { terms, clientOf } = await filled();
    const rows = { number: 2 };
    const client = clientOf(
      userSasOf(LoginAttempt, { ...terms, rows, permissions: ['read'], lifetimeMs }).token,
    );
    assert.deepEqual(await listed(client), ['jones/login_0002']);
    assert.equal(await status(client.getEntity('jones', 'login_0002')), 200);
    for (const rowKey of ['login_0001', 'login_0003']) {
      assert.equal(await status(client.getEntity('jones', rowKey)), 404);
    }
  });

  it('stay its range when a query asks for more', async () => {
    const { terms, clientOf } = await filled();
    const { token } = userSasOf(LoginAttempt, { ...terms, permissions: ['read'], lifetimeMs });
    const client = clientOf(token);
    const filter = "PartitionKey ge 'a' and address eq '10.0.0.1'";
    const found: (string | undefined)[] = [];
    for await (const row of client.listEntities({ queryOptions: { filter } })) {
      found.push(row.partitionKey);
    }
    assert.deepEqual([...new Set(found)], ['jones']);
    const other = client.listEntities({ queryOptions: { filter: "PartitionKey eq 'jonesj'" } });
    assert.equal((await other.next()).done, true);
  });

  it('can be used through the library, which sees no others', async () => {
    const { terms, clientOf } = await newTable();
    const { token } = userSasOf(LoginAttempt, { ...terms, rows: {}, permissions, lifetimeMs });
    const logins = entitiesOf(LoginAttempt, openTable(clientOf(token)));
    await logins.insert({ user: 'jones', number: 1, address: '10.0.0.1' });
    await logins.update({ user: 'jones', number: 1 }, (login) => ({ ...login, address: 'home' }));
    assert.equal((await logins.get({ user: 'jones', number: 1 }))?.address, 'home');
    assert.equal(await logins.get({ user: 'smith', number: 1 }), undefined);
    const other = logins.insert({ user: 'smith', number: 1, address: '10.0.0.1' });
    await assert.rejects(other, { status: 403, code: 'AuthorizationFailure' });
  });

  it('open for a token that a policy ended no more, and again when it is extended', async () => {
    const { owner, terms, clientOf } = await filled();
    const soon = (ms: number) => new Date(serverClock.nowMicros() / 1000 + ms);
    const policy = { id: 'readers', permissions: ['read'] as const };
    await setAccessPolicy(owner, { ...policy, expiresOn: soon(60_000) });
    const client = clientOf(userSasOf(LoginAttempt, { ...terms, policy: 'readers' }).token);
    const read = () => status(client.getEntity('jones', 'login_0001'));
    assert.equal(await read(), 200);
    serverClock.advanceMicros(61_000_000);
    assert.equal(await read(), 403);
    await setAccessPolicy(owner, { ...policy, expiresOn: soon(60_000) });
    assert.equal(await read(), 200);
    assert.equal(await status(client.getEntity('smith', 'login_0001')), 404);
    await removeAccessPolicy(owner, 'readers');
    assert.equal(await read(), 403);
  });

  it('stay open with a cache, which renews tokens before the server refuses them', async () => {
    const { terms, clientOf } = await filled();
    let issued = 0;
    const issue = (user: string) => {
      issued += 1;
      return userSasOf(LoginAttempt, {
        ...terms,
        partition: { user },
        permissions: ['read'],
        lifetimeMs: 60_000,
        clock: serverClock,
      });
    };
    const cache = sasCacheOf(issue, { leftMsMin: 15_000, clock: serverClock });
    const first = clientOf(await cache.get('jones'));
    for (let second = 0; second < 300; second += 10) {
      const client = clientOf(await cache.get('jones'));
      assert.equal(await status(client.getEntity('jones', 'login_0001')), 200, `${second} s`);
      serverClock.advanceMicros(10_000_000);
    }
    assert.equal(issued, 6);
    assert.equal(await status(first.getEntity('jones', 'login_0001')), 403);
  });
});

describe('the program of the page about tokens', () => {
  it('prints what the page says about requests of others', costly(), async () => {
    const root = new URL('../../../', import.meta.url);
    const page = await readFile(new URL('docs/guides/patterns/user-sas.md', root), 'utf8');
    const printed = [...page.matchAll(/^```\n(own rows[^]*?)^```$/gm)].map(([, text]) => text);
    const program = fileURLToPath(new URL('dist/examples/patterns/user-sas.js', root));
    const connection = own.server.connectionString();
    const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING: connection };
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
    assert.deepEqual(printed, [stdout.slice(stdout.indexOf('own rows'))]);
  });
});
