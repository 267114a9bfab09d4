import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { plain, rowsUnder } from '../support/compatibility-page.js';
import { allowedOrigin, startWorld, type AnyService } from '../support/compatibility-world.js';
import { startServer } from '../support/start-server.js';
import { insertOperation, sendChangeset } from '../wire/kit/batch.js';
import { entityPath, WireClient } from '../wire/kit/client.js';
import { messageBody, queryOf, QueueWireClient } from '../wire/kit/queue-client.js';
import { elementText } from '../wire/kit/queue-xml.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { WireRequest } from '../wire/kit/signing-client.js';

// Requests for every operation and refusal of both services: the response headers must be those of
// docs/reference/compatibility.md.

const { tables, queues, services, table, queue } = await startWorld();
const throttled = await startServer({ throttle: { requestsPerSecondPerAccount: 0.01 } });
after(() => throttled[Symbol.asyncDispose]());

const properties = { path: '/?restype=service&comp=properties' };
const unsigned = { auth: 'none', headers: { 'x-ms-version': '2021-12-02' } } as const;

/** Responses that both services give, including refusals. */
async function commonAnswers(service: AnyService): Promise<WireResponse[]> {
  const origin = { Origin: allowedOrigin };
  const asked = {
    ...origin,
    'Access-Control-Request-Method': 'GET',
    'Access-Control-Request-Headers': 'x-ms-date',
  };
  const requests: readonly WireRequest[] = [
    {},
    { headers: { 'x-ms-client-request-id': 'mine' } },
    { headers: origin },
    { method: 'OPTIONS', auth: 'none', headers: asked },
    { method: 'OPTIONS', auth: 'none' },
    { ...unsigned },
    { headers: { Authorization: 'nonsense' } },
    { headers: { 'x-ms-version': 'nonsense' } },
    properties,
    { method: 'PUT', ...properties, body: '<StorageServiceProperties/>' },
    { path: '/?restype=service&comp=stats' },
    { target: '/devstoreaccount1-secondary/?restype=service&comp=stats' },
    { path: '/?comp=other' },
    { target: '/nobody/here' },
    { method: 'PATCH', ...properties },
    { method: 'POST', path: '/a(b', body: 'x' },
    await service.write(),
  ];
  const answers: WireResponse[] = [];
  for (const request of requests) answers.push(await service.send(request));
  return answers;
}

async function tableAnswers(): Promise<WireResponse[]> {
  const entity = entityPath(table, 'p', '1');
  const policies = `/${table}?comp=acl`;
  const body = '{"n":1}';
  const quiet = { Prefer: 'return-no-content' };
  const requests: readonly WireRequest[] = [
    { method: 'POST', body: '{"TableName":"walked"}', headers: quiet },
    { method: 'POST', body: '{"TableName":"walked"}', headers: quiet },
    { path: "/Tables('walked')" },
    { path: '/Tables?$top=1' },
    { method: 'POST', path: '/walked', body: '{"PartitionKey":"a","RowKey":"1"}' },
    { method: 'POST', path: '/walked', body: '{"PartitionKey":"a","RowKey":"2"}', headers: quiet },
    { path: '/walked()?$top=1' },
    { path: entity },
    { method: 'PUT', path: entity, body },
    { method: 'MERGE', path: entity, body, headers: { 'If-Match': '*' } },
    { method: 'DELETE', path: entity, headers: { 'If-Match': '"x"' } },
    { method: 'DELETE', path: entity, headers: { 'If-Match': '*' } },
    { path: entity },
    { path: policies },
    { method: 'HEAD', path: policies },
    { method: 'PUT', path: policies, body: '<SignedIdentifiers/>' },
    { headers: { Accept: 'text/html' } },
    { method: 'DELETE', path: "/Tables('walked')" },
  ];
  const answers: WireResponse[] = [];
  for (const request of requests) answers.push(await tables.send(request));
  const operation = insertOperation(table, { PartitionKey: 'batch', RowKey: '1' });
  return [...answers, await sendChangeset(tables, [operation])];
}

async function queueAnswers(): Promise<WireResponse[]> {
  const put = await queues.send({
    method: 'POST',
    path: `/${queue}/messages`,
    body: messageBody('walked'),
  });
  const [id = '', popreceipt = ''] = ['MessageId', 'PopReceipt'].map(
    (name) => elementText(put.text, name) ?? '',
  );
  const updated = queryOf({ popreceipt, visibilitytimeout: 0 });
  const policies = `/${queue}?comp=acl`;
  const requests: readonly WireRequest[] = [
    { method: 'PUT', path: '/walked', headers: { 'x-ms-meta-Colour': 'blue' } },
    { method: 'PUT', path: '/walked' },
    { path: '/walked?comp=metadata' },
    { method: 'HEAD', path: '/walked?comp=metadata' },
    { method: 'PUT', path: '/walked?comp=metadata' },
    { method: 'PUT', path: `/${queue}/messages/${id}${updated}` },
    { path: `/${queue}/messages?peekonly=true` },
    { path: `/${queue}/messages` },
    { method: 'DELETE', path: `/${queue}/messages/${id}${queryOf({ popreceipt })}` },
    { path: policies },
    { method: 'HEAD', path: policies },
    { method: 'PUT', path: policies, body: '<SignedIdentifiers/>' },
    { method: 'PATCH', path: '/walked' },
    { method: 'DELETE', path: `/${queue}/messages` },
    { method: 'DELETE', path: '/walked' },
    { path: '/walked/messages' },
  ];
  const answers: WireResponse[] = [];
  for (const request of requests) answers.push(await queues.send(request));
  return [put, ...answers];
}

/** The response of a server beyond its limits. */
async function throttledAnswers(service: 'tables' | 'queues'): Promise<WireResponse[]> {
  const { server } = throttled;
  const client = service === 'tables' ? WireClient.of(server) : QueueWireClient.of(server);
  const answers: WireResponse[] = [];
  for (let index = 0; index < 5; index += 1) {
    answers.push(await client.send({ path: service === 'tables' ? '/Tables' : '/?comp=list' }));
  }
  client.close();
  assert.ok(answers.some(({ status }) => status === 503));
  return answers;
}

const [tableService, queueService] = services;
assert.ok(tableService !== undefined && queueService !== undefined);
const answered = {
  tables: [
    ...(await commonAnswers(tableService)),
    ...(await tableAnswers()),
    ...(await throttledAnswers('tables')),
  ],
  queues: [
    ...(await commonAnswers(queueService)),
    ...(await queueAnswers()),
    ...(await throttledAnswers('queues')),
  ],
};

function namesOf(answers: readonly WireResponse[]): Set<string> {
  const names = answers.flatMap(({ headers }) => headers.map(([name]) => name));
  return new Set(names.map((name) => (/^x-ms-meta-./.test(name) ? 'x-ms-meta-' : name)));
}

const sent = rowsUnder('Response headers').filter(([, second]) => second !== 'absent');
const absent = rowsUnder('Response headers').filter(([, second]) => second === 'absent');

describe('response headers', () => {
  for (const service of ['tables', 'queues'] as const) {
    it(`are those of the page, for ${service}`, () => {
      const documented = sent.flatMap(([name = '', where]) =>
        where === service || where === 'both' ? [plain(name)] : [],
      );
      const seen = [...namesOf(answered[service])];
      assert.deepEqual(seen.toSorted(), documented.toSorted());
    });
  }

  it('are on every answer when the page says so', () => {
    const always = sent.flatMap(([name = '', , when = '']) =>
      when.startsWith('always') ? [plain(name)] : [],
    );
    assert.ok(always.length === 4);
    for (const answer of [...answered.tables, ...answered.queues]) {
      for (const name of always)
        assert.ok(answer.header(name) !== undefined, `${name}: ${answer.head}`);
    }
  });

  it('of the cloud are absent where the page says so', () => {
    const seen = new Set([...namesOf(answered.tables), ...namesOf(answered.queues)]);
    assert.ok(absent.length > 0);
    for (const [name = ''] of absent) assert.ok(!seen.has(plain(name)), name);
  });
});
