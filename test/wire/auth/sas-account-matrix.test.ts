import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { changesetBody, changesetParts, insertOperation, jsonErrorOf } from '../kit/batch.js';
import { entityPath } from '../kit/client.js';
import { messageBody, QueueWireClient } from '../kit/queue-client.js';
import type { WireResponse } from '../kit/response.js';
import { accountSas, queueSas, withSas, type SasParameters } from '../kit/sas.js';
import { startFixture } from '../kit/server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';
import type { WireRequest } from '../kit/signing-client.js';
import { sampled } from '../../support/run-length.js';

// Signatures for an account (services × resource types × permissions) and for a queue
// (permissions), each with every operation of both services. The expected results are computed from
// the tables of table-service §8.4 and queue-service §4.3 and §4.4.

const secondKey = Buffer.from('the second key of the account').toString('base64');
const accounts = [{ name: developmentAccount, keys: [developmentKey, secondKey] }];
const { server, client } = await startFixture({ accounts });
const queues = QueueWireClient.of(server);
after(() => queues.close());
const table = await client.newTable('Things');
const queue = await queues.newQueue('things');
const row = { PartitionKey: 'p', RowKey: 'r' };
await client.put(table, row);
const message = await queues.put(queue, 'text');

interface Case {
  readonly name: string;
  /** One of these letters of `srt` is needed; empty when no signature suffices. */
  readonly srt: string;
  /** One of these words is needed, with all its letters. */
  readonly sp: readonly string[];
  /** The word of `sp` that a signature for a queue needs; absent when none suffices. */
  readonly byQueue?: string;
  /** For the table or queue with this name. */
  readonly request: (name: string) => WireRequest;
}

const entity = (name: string) => entityPath(name, 'p', 'r');
const body = '{"n":1}';
const xml = '<?xml version="1.0" encoding="utf-8"?>';
const policies = `${xml}<SignedIdentifiers/>`;
const properties = `${xml}<StorageServiceProperties/>`;
const any = { 'If-Match': '*' };

/** The letter that a signature for a queue needs for each operation that it can allow. */
const lettersByQueue: Readonly<Record<string, string>> = {
  GetQueueMetadata: 'r',
  'GetQueueMetadata by HEAD': 'r',
  DeleteMessage: 'p',
  UpdateMessage: 'u',
  GetMessages: 'p',
  PeekMessages: 'r',
  PutMessage: 'a',
};

function needs(
  name: string,
  srt: string,
  sp: readonly string[],
  request: (name: string) => WireRequest,
): Case {
  const byQueue = lettersByQueue[name];
  return { name, srt, sp, request, ...(byQueue === undefined ? {} : { byQueue }) };
}

const tableCases: readonly Case[] = [
  needs('GetTableServiceProperties', 's', ['r'], () => get(servicePath)),
  needs('SetTableServiceProperties', 's', ['w'], () => put(servicePath, properties)),
  needs('GetTableServiceStats', 's', ['r'], () => ({
    target: '/devstoreaccount1-secondary/?restype=service&comp=stats',
  })),
  needs('QueryTables', 'c', ['l'], () => get('/Tables')),
  needs('GetTable', 'c', ['l'], (name) => get(`/Tables('${name}')`)),
  needs('DeleteTable', 'c', ['d'], (name) => erase(`/Tables('${name}')`)),
  needs('CreateTable', 'c', ['c', 'w'], (name) =>
    post('/Tables', JSON.stringify({ TableName: name === table ? 'Fresh' : table })),
  ),
  needs('GetTableAcl', '', [], (name) => get(`/${name}?comp=acl`)),
  needs('SetTableAcl', '', [], (name) => put(`/${name}?comp=acl`, policies)),
  needs('DeleteEntity', 'o', ['d'], (name) => erase(entity(name), any)),
  needs('QueryEntities', 'oc', ['r'], (name) => get(`/${name}()`)),
  needs('GetEntity', 'o', ['r'], (name) => get(entity(name))),
  needs('InsertEntity', 'o', ['a'], (name) =>
    post(`/${name}`, '{"PartitionKey":"p","RowKey":"fresh"}'),
  ),
  needs('UpdateEntity', 'o', ['u'], (name) => put(entity(name), body, any)),
  needs('MergeEntity', 'o', ['u'], (name) => ({
    ...put(entity(name), body, any),
    method: 'MERGE',
  })),
  needs('InsertOrReplaceEntity', 'o', ['au'], (name) => put(entity(name), body)),
  needs('InsertOrMergeEntity', 'o', ['au'], (name) => ({
    ...put(entity(name), body),
    method: 'PATCH',
  })),
  needs('MergeEntity, tunnelled', 'o', ['u'], (name) =>
    post(entity(name), body, { ...any, 'X-HTTP-Method': 'MERGE' }),
  ),
];

const queueCases: readonly Case[] = [
  needs('ListQueues', 's', ['l'], () => get('/?comp=list')),
  needs('GetQueueServiceProperties', 's', ['r'], () => get(servicePath)),
  needs('SetQueueServiceProperties', 's', ['w'], () => put(servicePath, properties)),
  needs('DeleteQueue', 'c', ['d'], (name) => erase(`/${name}`)),
  needs('CreateQueue', 'c', ['c', 'w'], (name) => ({
    method: 'PUT',
    path: name === queue ? '/fresh' : `/${queue}`,
  })),
  needs('GetQueueMetadata', 'c', ['r'], (name) => get(`/${name}?comp=metadata`)),
  needs('GetQueueMetadata by HEAD', 'c', ['r'], (name) => ({
    ...get(`/${name}?comp=metadata`),
    method: 'HEAD',
  })),
  needs('SetQueueMetadata', 'c', ['w'], (name) => ({
    method: 'PUT',
    path: `/${name}?comp=metadata`,
    headers: { 'x-ms-meta-a': 'b' },
  })),
  needs('GetQueueACL', '', [], (name) => get(`/${name}?comp=acl`)),
  needs('SetQueueACL', '', [], (name) => put(`/${name}?comp=acl`, policies)),
  needs('ClearMessages', 'o', ['d'], (name) => erase(`/${name}/messages`)),
  needs('DeleteMessage', 'o', ['p'], (name) => erase(messagePath(name))),
  needs('UpdateMessage', 'o', ['u'], (name) =>
    put(`${messagePath(name)}&visibilitytimeout=0`, messageBody('other')),
  ),
  needs('GetMessages', 'o', ['p'], (name) => get(`/${name}/messages`)),
  needs('PeekMessages', 'o', ['r'], (name) => get(`/${name}/messages?peekonly=true`)),
  needs('PutMessage', 'o', ['a'], (name) => post(`/${name}/messages`, messageBody('more'))),
];

const servicePath = '/?restype=service&comp=properties';

function messagePath(name: string): string {
  const { MessageId = '', PopReceipt = '' } = message;
  return `/${name}/messages/${MessageId}?popreceipt=${encodeURIComponent(PopReceipt)}`;
}

function get(path: string): WireRequest {
  return { path };
}

function erase(path: string, headers: Readonly<Record<string, string>> = {}): WireRequest {
  return { method: 'DELETE', path, headers };
}

function put(
  path: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): WireRequest {
  return { method: 'PUT', path, body: text, headers };
}

function post(
  path: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): WireRequest {
  return { method: 'POST', path, body: text, headers };
}

const cases: readonly Case[] = [...tableCases, ...queueCases];

function isOfTables(one: Case): boolean {
  return tableCases.includes(one);
}

function send(one: Case, request: WireRequest, token: SasParameters): Promise<WireResponse> {
  const { path = '', target, ...rest } = request;
  const place =
    target === undefined ? { path: withSas(path, token) } : { target: withSas(target, token) };
  const signed = { ...rest, ...place, auth: 'none' as const };
  return isOfTables(one) ? client.send(signed) : queues.send(signed);
}

/** Everything that both services store in the account. */
async function dump(): Promise<string> {
  const parts = [
    await client.send({ path: '/Tables' }),
    await client.send({ path: `/${table}()` }),
    await client.send({ path: `/${table}?comp=acl` }),
    await client.send({ path: servicePath }),
    await queues.send({ path: '/?comp=list&include=metadata' }),
    await queues.send({ path: `/${queue}?comp=acl` }),
    await queues.send({ path: `/${queue}/messages?peekonly=true&numofmessages=32` }),
    await queues.send({ path: servicePath }),
  ];
  return parts.map(({ status, text }) => `${status} ${text}`).join('\n');
}

/** The error code when the signature is refused; undefined for all later errors. */
function refusalOf(response: WireResponse): string | undefined {
  return response.status === 403 ? response.header('x-ms-error-code') : undefined;
}

function expectedByAccount(one: Case, srt: string, sp: string): string | undefined {
  if (one.srt === '') return 'AuthorizationFailure';
  if (!one.srt.split('').some((letter) => srt.includes(letter))) {
    return 'AuthorizationResourceTypeMismatch';
  }
  const isEnough = one.sp.some((word) => word.split('').every((letter) => sp.includes(letter)));
  return isEnough ? undefined : 'AuthorizationPermissionMismatch';
}

/**
 * Requests to be refused address existing targets, and those to be allowed missing ones, so that
 * nothing may change.
 */
async function checkAll(
  among: readonly Case[],
  token: SasParameters,
  expected: (one: Case) => string | undefined,
): Promise<void> {
  const before = await dump();
  for (const one of among) {
    const refusal = expected(one);
    const names = isOfTables(one) ? [table, 'Nowhere'] : [queue, 'nowhere'];
    const name = names[refusal === undefined ? 1 : 0] ?? '';
    const response = await send(one, one.request(name), token);
    assert.equal(refusalOf(response), refusal, `${one.name}: ${response.status} ${response.text}`);
    assert.ok(response.status < 500, `${one.name}: ${response.text}`);
  }
  assert.equal(await dump(), before, 'a refused request has changed something');
}

const words = ['r', 'w', 'd', 'l', 'a', 'c', 'u', 'p', 'au', 'rwdlacup', 'x'];

describe('a signature for an account', () => {
  for (const srt of sampled(['s', 'c', 'o', 'sc', 'so', 'co', 'sco'], 3)) {
    it(`srt=${srt} allows the operations on this, by the letters of sp`, async () => {
      for (const [index, sp] of words.entries()) {
        const key = index % 2 === 0 ? developmentKey : secondKey;
        const sv = index % 3 === 0 ? '2015-04-05' : '2021-12-02';
        const owner = { account: developmentAccount, key };
        const token = accountSas({ sv, ss: 'btqf', srt, sp }, owner);
        await checkAll(cases, token, (one) => expectedByAccount(one, srt, sp));
      }
    });
  }

  for (const ss of ['b', 'f', 'bf', 't', 'q', 'bq']) {
    it(`ss=${ss} is good for these services alone`, async () => {
      const token = accountSas({ ss, srt: 'sco', sp: 'rwdlacup' });
      await checkAll(cases, token, (one) => {
        if (!ss.includes(isOfTables(one) ? 't' : 'q')) return 'AuthorizationServiceMismatch';
        return expectedByAccount(one, 'sco', 'rwdlacup');
      });
    });
  }

  it('authorises each operation of a batch on its own', async () => {
    const operation = insertOperation('Nowhere', row);
    const type = 'multipart/mixed; boundary=batch_a1e9d677-b28b-435e-a89e-87e6a768a431';
    for (const [srt, sp, expected] of [
      ['o', 'a', 'TableNotFound'],
      ['o', 'r', 'AuthorizationPermissionMismatch'],
      ['c', 'a', 'AuthorizationResourceTypeMismatch'],
    ] as const) {
      const response = await client.send({
        method: 'POST',
        path: withSas('/$batch', accountSas({ ss: 't', srt, sp })),
        headers: { 'Content-Type': type },
        body: changesetBody(client.base, [operation]),
        auth: 'none',
      });
      const [part] = changesetParts(response);
      assert.ok(part);
      assert.equal(jsonErrorOf(part).code, expected);
    }
    for (const [srt, sp] of [
      ['s', 'a'],
      ['o', 'l'],
    ] as const) {
      const path = withSas('/$batch', accountSas({ ss: 't', srt, sp }));
      const response = await client.send({ method: 'POST', path, body: '', auth: 'none' });
      assert.equal(response.status, 403);
    }
  });
});

describe('a signature for a queue', () => {
  const among = queueCases;

  it('allows what its letters say, and no operation that has none', async () => {
    for (const sp of ['r', 'a', 'u', 'p', 'ra', 'up', 'raup', 'raupwdlc']) {
      const before = await dump();
      for (const one of among) {
        // A refused request names the queue of the signature; an allowed one names a missing queue,
        // so that it changes nothing.
        const isAllowed = one.byQueue !== undefined && sp.includes(one.byQueue);
        const isService = one.srt === 's';
        const path = one.request(queue).path ?? '';
        const own = path === '/fresh' ? 'fresh' : queue;
        const name = isAllowed ? 'nowhere' : own;
        const token = queueSas(name, { sp });
        const response = await send(one, one.request(isAllowed ? 'nowhere' : queue), token);
        const expected = isAllowed
          ? undefined
          : isService
            ? 'AuthenticationFailed'
            : one.byQueue === undefined
              ? 'AuthorizationFailure'
              : 'AuthorizationPermissionMismatch';
        assert.equal(refusalOf(response), expected, `${one.name} with ${sp}: ${response.text}`);
        if (isAllowed) assert.equal(response.status, 404);
      }
      assert.equal(await dump(), before, 'a refused request has changed something');
    }
  });

  it('says nothing about another queue', async () => {
    const before = await dump();
    const token = queueSas('nowhere', { sp: 'raup' });
    for (const one of among) {
      const response = await send(one, one.request(queue), token);
      assert.equal(refusalOf(response), 'AuthenticationFailed', one.name);
    }
    assert.equal(await dump(), before);
  });
});
