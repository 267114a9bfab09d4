import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  changesetBody,
  changesetParts,
  insertOperation,
  jsonErrorOf,
  plainBatchBody,
  plainPart,
  type Operation,
} from '../kit/batch.js';
import { acceptMinimal, entityPath } from '../kit/client.js';
import { assertFrontDoorError } from '../kit/errors.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { WireResponse } from '../kit/response.js';
import { queueSas, tableSas, withSas, type SasParameters } from '../kit/sas.js';
import { startFixture } from '../kit/server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';

// Attempts to exceed the rights of valid signatures. `hidden` must never be returned, and nothing
// else may change.

const accounts = [
  { name: developmentAccount, keys: [developmentKey] },
  // An account with the same key: its signatures differ only by the account name.
  { name: 'twinaccount', keys: [developmentKey] },
];
const { server, client } = await startFixture({ accounts });
const queues = QueueWireClient.of(server);
after(() => queues.close());
const table = await client.newTable('Shared');
const secret = await client.newTable('Secret');
const own = { PartitionKey: 'own', RowKey: '1', text: 'mine' };
const hidden = { PartitionKey: 'secret', RowKey: '1', text: 'hidden' };
await client.put(table, own, hidden, { ...hidden, PartitionKey: 'own', RowKey: '2' });
await client.put(secret, hidden, { ...own, text: 'hidden' });
const queue = await queues.newQueue('shared');
const secretQueue = await queues.newQueue('secret');
await queues.put(secretQueue, 'hidden');

/** All permissions for one row. */
const token = tableSas({ tn: table, sp: 'raud', spk: 'own', srk: '1', epk: 'own', erk: '1' });

async function dump(): Promise<string> {
  const parts = [
    await client.query(table),
    await client.query(secret),
    await client.send({ path: '/Tables' }),
    await client.send({ path: `/${table}?comp=acl` }),
    await client.send({ path: '/?restype=service&comp=properties' }),
  ];
  return parts.map(({ text }) => text).join('\n');
}

interface Attack {
  readonly method?: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function attack(given: Attack, sas: SasParameters = token): Promise<WireResponse> {
  const { target, ...rest } = given;
  const before = await dump();
  const response = await client.send({ ...rest, target: withSas(target, sas), auth: 'none' });
  assert.ok(!response.text.includes('hidden'), `${target}: ${response.text}`);
  assert.ok(response.status < 500, `${target}: ${response.text}`);
  assert.equal(await dump(), before, `${target} has changed something`);
  return response;
}

const root = `/${developmentAccount}`;
const keys = "(PartitionKey='secret',RowKey='1')";

describe('another way to spell an address', () => {
  const outside: readonly string[] = [
    `${root}/${table}${keys}`,
    `${root}/${table}(RowKey='1',PartitionKey='secret')`,
    `${root}/${table.toUpperCase()}${keys}`,
    `${root}//${table}${keys}`,
    `${root}/%53hared1${keys}`,
    `${root}/${table}%28PartitionKey=%27secret%27,RowKey=%271%27%29`,
    `${root}/${table}(%20PartitionKey='secret'%20,%20RowKey='1'%20)`,
    `${root}-secondary/${table}${keys}`,
    `${root}/${table}(PartitionKey='own',RowKey='2')`,
  ];
  for (const target of outside) {
    it(`finds no row outside: ${target}`, async () => {
      const response = await attack({ target });
      assert.equal(response.status, 404, response.text);
      assert.equal(response.header('x-ms-error-code'), 'ResourceNotFound');
    });
  }

  const elsewhere: readonly string[] = [
    `${root}/${secret}${keys}`,
    `${root}/${secret}()`,
    `${root}/${secret.toLowerCase()}`,
    `/twinaccount/${table}()`,
    `${root}/Tables`,
    `${root}/Tables('${table}')`,
    `${root}/tables('${secret}')`,
    `${root}/?restype=service&comp=properties`,
    `${root}?restype=service&comp=stats`,
    `${root}-secondary/?restype=service&comp=stats`,
    `${root}/${table}?comp=acl`,
    `${root}/${table}?comp=acl&comp=x`,
    `${root}/${table}?%63omp=acl`,
    `${root}/${table}()?comp=acl`,
    // The long s is an S in upper case, but not a letter of a name.
    `${root}/${encodeURIComponent(secret.replace('S', 'ſ'))}()`,
  ];
  for (const target of elsewhere) {
    it(`opens nothing that is not signed: ${target}`, async () => {
      const { status, text } = await attack({ target });
      assert.equal(status, 403, text);
    });
  }

  it('is refused as a signature over something else when it names another table', async () => {
    const target = `${root}/${secret}()`;
    assertFrontDoorError(await attack({ target }), { status: 403, code: 'AuthenticationFailed' });
  });

  const nonsense: readonly string[] = [
    `${root}/${table}/../${secret}()`,
    `${root}/${table}%2F..%2F${secret}()`,
    `${root}/./${secret}()`,
    `${root}/%2e%2e/${secret}()`,
    `${root}/${table}()/${secret}()`,
    `${root}/${table}(PartitionKey='own',RowKey='1')(PartitionKey='secret',RowKey='1')`,
    `${root}/${table}(PartitionKey='own',PartitionKey='secret',RowKey='1')`,
    `${root}/${table}(PartitionKey='own',RowKey='1',RowKey='2')`,
    `${root}/\\${secret}()`,
  ];
  for (const target of nonsense) {
    it(`is no address: ${target}`, async () => {
      const { status } = await attack({ target });
      assert.ok(status === 400 || status === 403, String(status));
    });
  }

  it('of options in other letters asks for entities, which are those of the range', async () => {
    for (const options of [
      '?COMP=acl',
      '?Restype=service',
      '?$FILTER=true',
      '?nextpartitionkey=x',
    ]) {
      const response = await attack({ target: `${root}/${table}()${options}` });
      assert.equal(response.status, 200);
      assert.deepEqual(
        response.items.map((item) => item['text']),
        ['mine'],
      );
    }
  });
});

describe('another way to say a method', () => {
  it('needs the permission for the method that it means', async () => {
    const reader = tableSas({ tn: table, sp: 'r' });
    const entity = `${root}${entityPath(table, 'own', '1')}`;
    const any = { 'If-Match': '*' };
    for (const [method, tunnelled] of [
      ['POST', 'DELETE'],
      ['POST', 'delete'],
      ['POST', 'MERGE'],
      ['POST', 'PUT'],
      ['POST', 'PATCH'],
    ] as const) {
      const headers = { ...any, 'X-HTTP-Method': tunnelled };
      const response = await attack({ method, target: entity, headers, body: '{}' }, reader);
      assert.equal(response.status, 403, `${tunnelled}: ${response.text}`);
    }
    const disguised = { 'X-HTTP-Method': 'DELETE', ...any };
    assert.equal((await attack({ target: entity, headers: disguised }, reader)).status, 400);
    const overridden = { 'X-HTTP-Method-Override': 'DELETE', 'X-Method-Override': 'DELETE' };
    assert.equal((await attack({ target: entity, headers: overridden }, reader)).status, 200);
    assert.equal((await attack({ method: 'HEAD', target: entity }, reader)).status, 405);
    assert.equal(
      (await attack({ method: 'HEAD', target: `${root}/${table}?comp=acl` })).status,
      403,
    );
  });

  it('is no upsert because If-Match is there and says nothing', async () => {
    const updater = tableSas({ tn: table, sp: 'u' });
    const target = `${root}${entityPath(table, 'own', 'new')}`;
    for (const method of ['PUT', 'MERGE', 'PATCH']) {
      const bare = await attack({ method, target, body: '{}' }, updater);
      assert.equal(bare.status, 403);
      const empty = await attack(
        { method, target, body: '{}', headers: { 'If-Match': '' } },
        updater,
      );
      assert.equal(empty.status, 400);
      const stale = await attack(
        { method, target, body: '{}', headers: { 'If-Match': '*' } },
        updater,
      );
      assert.equal(stale.status, 404);
    }
  });

  it('is no insert into the range with the keys of another row in the body', async () => {
    const target = `${root}${entityPath(table, 'own', '1')}`;
    const body = JSON.stringify({ PartitionKey: 'secret', RowKey: '1', text: 'mine' });
    const before = await client.get(table, 'secret', '1');
    const response = await client.send({
      method: 'PUT',
      target: withSas(target, token),
      body,
      auth: 'none',
    });
    assert.equal(response.status, 204);
    assert.equal((await client.get(table, 'secret', '1')).text, before.text);
    const insert = await attack({ method: 'POST', target: `${root}/${table}`, body });
    assert.equal(insert.status, 403);
    const twice = '{"PartitionKey":"own","RowKey":"1","PartitionKey":"secret"}';
    const doubled = await attack({ method: 'POST', target: `${root}/${table}`, body: twice });
    assert.ok([400, 403].includes(doubled.status), doubled.text);
  });

  it('changes nothing at the secondary endpoint', async () => {
    const target = `${root}-secondary${entityPath(table, 'own', '1')}`;
    const response = await attack({ method: 'PUT', target, body: '{}' });
    assert.equal(response.header('x-ms-error-code'), 'InsufficientAccountPermissions');
  });
});

describe('a query', () => {
  const query = (options: string) => attack({ target: `${root}/${table}()?${options}` });
  const planOf = (response: WireResponse) => response.header('x-tabularium-plan') ?? '';

  it('tells nothing about rows outside: no row, no token, no count', async () => {
    const filters = [
      "text eq 'hidden'",
      "PartitionKey eq 'secret'",
      "PartitionKey ne 'own'",
      "not (PartitionKey eq 'own')",
      "PartitionKey eq 'own' or true",
      "RowKey eq '2' or RowKey eq '1'",
      'true',
      'false',
    ];
    for (const filter of filters) {
      const response = await query(`$filter=${encodeURIComponent(filter)}`);
      assert.equal(response.status, 200, response.text);
      assert.equal(response.header('x-ms-continuation-nextpartitionkey'), undefined, filter);
      const scanned = Number(/scanned=(\d+)/.exec(planOf(response))?.[1]);
      assert.ok(scanned <= 1, `${filter}: ${planOf(response)}`);
    }
  });

  it('cannot be moved outside by a token', async () => {
    for (const key of ['', 'a', 'own', 'secret', 'zzz']) {
      const payload = Buffer.from(key).toString('base64').replaceAll('=', '-');
      const next = encodeURIComponent(`1!${payload.length}!${payload}`);
      for (const options of [
        `NextPartitionKey=${next}`,
        `NextPartitionKey=${next}&NextRowKey=1!4!MQ--`,
      ]) {
        const response = await query(`${options}&$top=1`);
        assert.equal(response.status, 200, response.text);
        assert.ok(response.items.length <= 1);
        assert.equal(response.header('x-ms-continuation-nextpartitionkey'), undefined);
      }
    }
  });
});

const batchType = 'multipart/mixed; boundary=batch_a1e9d677-b28b-435e-a89e-87e6a768a431';

function attackInBatch(body: string, sas = token): Promise<WireResponse> {
  const headers = { 'Content-Type': batchType };
  return attack({ method: 'POST', target: `${root}/$batch`, headers, body }, sas);
}

const hosts = [
  client.base,
  root,
  '',
  `http://elsewhere.example${root}`,
  `https://elsewhere.example:443${root}-secondary`,
];

describe('a batch', () => {
  const get = (path: string): Operation => ({
    method: 'GET',
    path,
    headers: { Accept: acceptMinimal },
  });

  for (const base of hosts) {
    it(`reads and writes its table alone, also by the address ${base || '/'}`, async () => {
      for (const path of [`/${secret}()`, `/${secret}${keys}`, entityPath(secret, 'own', '1')]) {
        const part = plainPart(await attackInBatch(plainBatchBody(base, [get(path)])));
        assert.deepEqual([part.status, jsonErrorOf(part).code], [403, 'AuthorizationFailure']);
      }
      const outside = plainPart(
        await attackInBatch(plainBatchBody(base, [get(`/${table}${keys}`)])),
      );
      assert.deepEqual([outside.status, jsonErrorOf(outside).code], [404, 'ResourceNotFound']);
      const entities = plainPart(await attackInBatch(plainBatchBody(base, [get(`/${table}()`)])));
      assert.equal(entities.status, 200);
      assert.match(entities.body, /mine/);
      const insert = insertOperation(secret, own);
      const [part] = changesetParts(await attackInBatch(changesetBody(base, [insert])));
      assert.ok(part);
      assert.deepEqual([part.status, jsonErrorOf(part).code], [403, 'AuthorizationFailure']);
    });
  }

  it('reaches no other account and nothing but entities', async () => {
    for (const path of [
      '/Tables',
      `/Tables('${table}')`,
      `/${table}?comp=acl`,
      '/?restype=service&comp=properties',
    ]) {
      const part = plainPart(await attackInBatch(plainBatchBody(client.base, [get(path)])));
      assert.ok(part.status >= 400 && part.status < 500, part.body);
    }
    const twin = `http://127.0.0.1/twinaccount`;
    const part = plainPart(await attackInBatch(plainBatchBody(twin, [get(`/${table}()`)])));
    assert.equal(part.status, 400);
  });

  it('takes nothing from a token inside', async () => {
    const wide = tableSas({ tn: secret, sp: 'raud' });
    const path = withSas(`/${secret}()`, wide);
    const part = plainPart(await attackInBatch(plainBatchBody(client.base, [get(path)])));
    assert.equal(part.status, 403);
  });

  it('goes by the table of its token when the address is $batch in other bytes', async () => {
    const headers = { 'Content-Type': batchType };
    const body = changesetBody(client.base, [insertOperation(secret, own)]);
    for (const target of [`${root}/%24batch`, `${root}//$batch`]) {
      const response = await attack({ method: 'POST', target, headers, body });
      const [part] = changesetParts(response);
      assert.equal(part?.status, 403);
    }
  });
});

describe('a token of a queue', () => {
  const guest = queueSas(queue, { sp: 'raup' });
  const seen = async (target: string, sas = guest, method = 'GET') => {
    const response = await queues.send({ method, target: withSas(target, sas), auth: 'none' });
    assert.ok(!response.text.includes('hidden'), response.text);
    return response.status;
  };

  it('covers the name, however that is spelled', async () => {
    assert.equal(await seen(`${root}/${queue}/messages?peekonly=true`), 200);
    assert.equal(await seen(`${root}/%73hared-1/messages?peekonly=true`), 200);
    assert.equal(await seen(`${root}-secondary/${queue}/messages?peekonly=true`), 200);
    for (const target of [
      `${root}/${secretQueue}/messages?peekonly=true`,
      `${root}/%73ecret-1/messages?peekonly=true`,
      `${root}/${queue}%2F..%2F${secretQueue}/messages?peekonly=true`,
      `${root}/${queue}/../${secretQueue}/messages?peekonly=true`,
      `${root}//${secretQueue}/messages?peekonly=true`,
      `/twinaccount/${queue}/messages?peekonly=true`,
      `${root}/?comp=list`,
      `${root}/%2573hared-1/messages?peekonly=true`,
    ]) {
      const status = await seen(target);
      assert.ok(status === 403 || status === 400, `${target}: ${status}`);
    }
  });

  it('does no more by options in other letters', async () => {
    for (const option of [
      'comp=acl',
      'COMP=acl',
      'Comp=acl',
      '%63omp=acl',
      'cOmP=acl&comp=metadata',
    ]) {
      assert.equal(await seen(`${root}/${queue}?${option}`), 403, option);
      assert.equal(await seen(`${root}/${queue}?${option}`, guest, 'PUT'), 403, option);
    }
    const reader = queueSas(queue, { sp: 'r' });
    for (const option of [
      'PeekOnly=false',
      'peekonly=no',
      'peekonly=',
      'peekonly=false&PEEKONLY=true',
    ]) {
      const status = await seen(`${root}/${queue}/messages?${option}`, reader);
      assert.ok(status === 403 || status === 400, `${option}: ${status}`);
    }
    assert.equal(await seen(`${root}/${queue}/messages`, guest, 'DELETE'), 403);
    assert.equal(await seen(`${root}/${queue}`, guest, 'DELETE'), 403);
    assert.equal(await seen(`${root}-secondary/${queue}/messages`), 403);
  });
});
