import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { testIssuer, type Claims, type TestIssuer } from '../../support/oauth-issuer.js';
import { changesetBody, deleteOperation, insertOperation, writeOperation } from '../kit/batch.js';
import { entityPath, WireClient } from '../kit/client.js';
import { messageBody, messagePath, QueueWireClient } from '../kit/queue-client.js';
import type { WireRequest } from '../kit/signing-client.js';
import { costly } from '../../support/run-length.js';

// What each role and each scope allows, written by hand: rows are operations of the services,
// letters are the allowed bearers.

const bearers: Readonly<Record<string, Claims>> = {
  R: { roles: ['Storage Table Data Reader'] },
  C: { roles: ['Storage Table Data Contributor'] },
  q: { roles: ['Storage Queue Data Reader'] },
  c: { roles: ['Storage Queue Data Contributor'] },
  p: { roles: ['Storage Queue Data Message Processor'] },
  s: { roles: ['Storage Queue Data Message Sender'] },
  1: { scp: 'read' },
  2: { scp: 'write' },
  3: { scp: 'delete' },
  4: { scp: 'read delete' },
  n: { roles: ['Shop.Nobody'], scp: 'openid profile' },
  i: { scp: 'user_impersonation' },
};
const letters = Object.keys(bearers);

let issuer: TestIssuer;
let started: StartedServer;
let tables: WireClient;
let queues: QueueWireClient;
let tokens: Record<string, string>;
let names = 0;

before(async () => {
  issuer = await testIssuer();
  started = await startServer({
    oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
  });
  tables = WireClient.of(started.server);
  queues = QueueWireClient.of(started.server);
  const made = letters.map(
    async (letter) => [letter, await issuer.token(bearers[letter])] as const,
  );
  tokens = Object.fromEntries(await Promise.all(made));
});

after(async () => {
  tables.close();
  queues.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});

// Keeps the compared content small.
beforeEach(() => started.server.reset());

function freshName(): string {
  names += 1;
  return `name${names}`;
}

function withToken(request: WireRequest, letter: string): WireRequest {
  const headers = { Authorization: `Bearer ${tokens[letter]}`, ...request.headers };
  return { ...request, auth: 'none', headers };
}

/** All tables and entities, read as the owner. */
async function tablesSeen(): Promise<string> {
  const list = await tables.send({ path: '/Tables' });
  const texts = [list.text];
  for (const { TableName } of list.items) {
    texts.push((await tables.query(String(TableName))).text);
  }
  const properties = await tables.send({ path: '/?restype=service&comp=properties' });
  return [...texts, properties.text].join('\n');
}

/** All queues and messages, read as the owner. */
async function queuesSeen(): Promise<string> {
  const list = await queues.expect(200, { path: '/?comp=list&include=metadata' });
  const texts = [list.text];
  for (const [, name = ''] of list.text.matchAll(/<Name>([^<]+)<\/Name>/g)) {
    texts.push(JSON.stringify(await queues.peek(name)), String(await queues.count(name)));
  }
  const properties = await queues.expect(200, { path: '/?restype=service&comp=properties' });
  return [...texts, properties.text].join('\n');
}

async function tableWithRow(): Promise<string> {
  const table = await tables.newTable();
  await tables.put(table, { PartitionKey: 'p', RowKey: 'r', value: 1 });
  return table;
}

interface Case {
  readonly operation: string;
  /** The letters of the allowed bearers. */
  readonly allowed: string;
  /** The status of success. */
  readonly status: number;
  /** Prepares the target of the operation as the owner, and returns the request. */
  readonly request: () => Promise<WireRequest>;
}

const may = (
  operation: string,
  allowed: string,
  status: number,
  request: Case['request'],
): Case => ({ operation, allowed, status, request });

const put = (path: string, body?: string): WireRequest => ({
  method: 'PUT',
  path,
  ...(body === undefined ? {} : { body }),
});
const properties = '/?restype=service&comp=properties';
const propertiesBody =
  '<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><Cors /></StorageServiceProperties>';

async function entity(
  method: string,
  change: Partial<WireRequest> = {},
  ifMatch: string | undefined = '*',
): Promise<WireRequest> {
  const table = await tableWithRow();
  const path = entityPath(table, 'p', 'r');
  const { headers, ...rest } = change;
  const condition = ifMatch === undefined ? {} : { 'If-Match': ifMatch };
  return { method, path, headers: { ...condition, ...headers }, ...rest };
}

async function batch(operations: (table: string) => Parameters<typeof changesetBody>[1]) {
  const body = changesetBody(tables.base, operations(await tableWithRow()));
  const boundary = /^--(\S+)/.exec(body)?.[1];
  const headers = { 'Content-Type': `multipart/mixed; boundary=${boundary}` };
  return { method: 'POST', path: '/$batch', body, headers };
}

const keys = { PartitionKey: 'p', RowKey: 'new' };
const tableCases: readonly Case[] = [
  may('QueryTables', 'RC14', 200, async () => ({ path: '/Tables' })),
  may('GetTable', 'RC14', 200, async () => ({ path: `/Tables('${await tableWithRow()}')` })),
  may('CreateTable', 'C2', 201, async () => ({
    method: 'POST',
    path: '/Tables',
    body: JSON.stringify({ TableName: freshName() }),
  })),
  may('DeleteTable', 'C34', 204, async () => ({
    method: 'DELETE',
    path: `/Tables('${await tableWithRow()}')`,
  })),
  may('GetEntity', 'RC14', 200, () => entity('GET', {}, undefined)),
  may('QueryEntities', 'RC14', 200, async () => ({
    path: `/${await tableWithRow()}()?$filter=value%20eq%201`,
  })),
  may('InsertEntity', 'C2', 201, async () => ({
    method: 'POST',
    path: `/${await tableWithRow()}`,
    body: JSON.stringify(keys),
  })),
  ...(['PUT', 'MERGE', 'PATCH'] as const).flatMap((method): Case[] => [
    may(`${method} with If-Match`, 'C2', 204, () => entity(method, { body: '{"value":2}' })),
    may(`${method} without If-Match`, 'C2', 204, () =>
      entity(method, { body: '{"value":3}' }, undefined),
    ),
  ]),
  may('DeleteEntity', 'C34', 204, () => entity('DELETE')),
  may('GetTableServiceProperties', 'RC14', 200, async () => ({ path: properties })),
  may('SetTableServiceProperties', 'C2', 202, async () => put(properties, propertiesBody)),
  may('GetTableServiceStats', 'RC14', 200, async () => ({
    target: '/devstoreaccount1-secondary/?restype=service&comp=stats',
  })),
];

async function queueWithMessage(): Promise<string> {
  const queue = await queues.newQueue();
  await queues.put(queue, 'text');
  return queue;
}

async function heldMessage(method: string): Promise<WireRequest> {
  const queue = await queueWithMessage();
  const message = await queues.getOne(queue, { visibilitytimeout: 60 });
  return method === 'PUT'
    ? put(messagePath(queue, message, { visibilitytimeout: 0 }), messageBody('new'))
    : { method, path: messagePath(queue, message) };
}

const queueCases: readonly Case[] = [
  may('ListQueues', 'qc14', 200, async () => ({ path: '/?comp=list' })),
  may('CreateQueue', 'c2', 201, async () => put(`/${freshName()}`)),
  may('DeleteQueue', 'c34', 204, async () => ({
    method: 'DELETE',
    path: `/${await queueWithMessage()}`,
  })),
  may('GetQueueMetadata', 'qc14', 200, async () => ({
    path: `/${await queueWithMessage()}?comp=metadata`,
  })),
  may('SetQueueMetadata', 'c2', 204, async () => ({
    ...put(`/${await queueWithMessage()}?comp=metadata`),
    headers: { 'x-ms-meta-a': 'b' },
  })),
  may('PutMessage', 'cs2', 201, async () => ({
    method: 'POST',
    path: `/${await queueWithMessage()}/messages`,
    body: messageBody('more'),
  })),
  may('GetMessages', 'cp4', 200, async () => ({ path: `/${await queueWithMessage()}/messages` })),
  may('PeekMessages', 'qcp14', 200, async () => ({
    path: `/${await queueWithMessage()}/messages?peekonly=true`,
  })),
  may('DeleteMessage', 'cp34', 204, () => heldMessage('DELETE')),
  may('UpdateMessage', 'c2', 204, () => heldMessage('PUT')),
  may('ClearMessages', 'c34', 204, async () => ({
    method: 'DELETE',
    path: `/${await queueWithMessage()}/messages`,
  })),
  may('GetQueueServiceProperties', 'qc14', 200, async () => ({ path: properties })),
  may('SetQueueServiceProperties', 'c2', 202, async () => put(properties, propertiesBody)),
  may('GetQueueServiceStats', 'qc14', 200, async () => ({
    target: '/devstoreaccount1-secondary/?restype=service&comp=stats',
  })),
];

/**
 * Checks that all other bearers are refused and change nothing, and that all allowed ones are
 * served.
 */
async function checkCase(
  { allowed, status, request }: Case,
  client: { send(request: WireRequest): ReturnType<WireClient['send']> },
  seen: () => Promise<string>,
): Promise<void> {
  const refused = letters.filter((letter) => !allowed.includes(letter));
  const requests = new Map<string, WireRequest>();
  for (const letter of refused) requests.set(letter, withToken(await request(), letter));
  const before = await seen();
  for (const [letter, each] of requests) {
    const response = await client.send(each);
    assert.equal(response.status, 403, `${letter}: ${response.text}`);
    assert.equal(response.header('x-ms-error-code'), 'AuthorizationPermissionMismatch', letter);
  }
  assert.equal(await seen(), before, 'refused requests change nothing');
  for (const letter of letters.filter((each) => allowed.includes(each))) {
    const response = await client.send(withToken(await request(), letter));
    assert.equal(response.status, status, `${letter}: ${response.text}`);
  }
}

describe('the bearer of a token at the table service', () => {
  for (const each of tableCases) {
    it(`may ${each.operation}: ${each.allowed}`, () => checkCase(each, tables, tablesSeen));
  }

  it('may send those transactions whose every operation it may send', costly(), async () => {
    const deletion = (table: string) => [deleteOperation(table, ['p', 'r'])];
    const insertion = (table: string) => [insertOperation(table, keys)];
    const both = (table: string) => [...insertion(table), ...deletion(table)];
    const upsert = (table: string) => [writeOperation('PUT', table, ['p', 'r'], { value: 9 })];
    const cases = [
      [deletion, 'C34'],
      [insertion, 'C2'],
      [upsert, 'C2'],
      [both, 'C'],
    ] as const;
    for (const [operations, allowed] of cases) {
      for (const letter of letters) {
        await started.server.reset();
        const request = await batch(operations);
        const before = await tablesSeen();
        const response = await tables.send(withToken(request, letter));
        const isAllowed = allowed.includes(letter);
        const isDone = response.status === 202 && response.text.includes('204 No Content');
        assert.equal(isDone, isAllowed, `${allowed} ${letter}: ${response.text}`);
        if (isAllowed) continue;
        assert.match(response.text, /AuthorizationPermissionMismatch/, letter);
        assert.equal(await tablesSeen(), before, 'nothing of it is applied');
      }
    }
  });

  it('finds no access policies, whatever its role', async () => {
    const table = await tableWithRow();
    for (const letter of letters) {
      for (const method of ['GET', 'PUT']) {
        const response = await tables.send(
          withToken({ method, path: `/${table}?comp=acl` }, letter),
        );
        assert.equal(response.status, 404, response.text);
        assert.equal(response.header('content-type'), 'application/xml');
        assert.match(response.text, /<m:code>ResourceNotFound<\/m:code>/);
      }
    }
  });

  it('is told in JSON what is missing', async () => {
    const response = await tables.send(withToken({ path: '/Tables' }, 'n'));
    assert.match(response.header('content-type') ?? '', /^application\/json/);
    assert.match(response.text, /"code":"AuthorizationPermissionMismatch"/);
  });
});

describe('the bearer of a token at the queue service', () => {
  for (const each of queueCases) {
    it(`may ${each.operation}: ${each.allowed}`, () => checkCase(each, queues, queuesSeen));
  }

  it('reads access policies with a role that reads, and sets them with one that writes', async () => {
    const queue = await queueWithMessage();
    const path = `/${queue}?comp=acl`;
    const body =
      '<SignedIdentifiers><SignedIdentifier><Id>kept</Id></SignedIdentifier></SignedIdentifiers>';
    for (const letter of letters) {
      const got = await queues.send(withToken({ path }, letter));
      assert.equal(got.status, 'qc14'.includes(letter) ? 200 : 403, `${letter}: ${got.text}`);
      const set = await queues.send(withToken({ method: 'PUT', path, body }, letter));
      assert.equal(set.status, 'c2'.includes(letter) ? 204 : 403, `${letter}: ${set.text}`);
      if (set.status === 403) {
        assert.equal(set.header('x-ms-error-code'), 'AuthorizationPermissionMismatch');
      } else {
        assert.match((await queues.send({ path })).text, /<Id>kept<\/Id>/);
        await queues.expect(204, { method: 'PUT', path, body: '<SignedIdentifiers />' });
      }
    }
  });

  it('is told in XML what is missing', async () => {
    const response = await queues.send(withToken({ path: '/?comp=list' }, 'n'));
    assert.match(response.text, /<Code>AuthorizationPermissionMismatch<\/Code>/);
    assert.match(response.text, /needs the permission list on a service; no role or scope/);
  });
});
