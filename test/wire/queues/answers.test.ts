import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messageBody } from '../kit/queue-client.js';
import { messagesOf, xmlDeclaration } from '../kit/queue-xml.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

// Every operation once, as the bytes that go over the wire (queue-service §6 to §8): status, the
// headers of its own and the whole body.

const { queues, server } = await startQueueFixture();

const now = 'Fri, 01 Mar 2024 12:00:00 GMT';
const weekLater = 'Fri, 08 Mar 2024 12:00:00 GMT';

/** What every answer has, whatever it is about. */
const common = new Set([
  'date',
  'connection',
  'keep-alive',
  'content-length',
  'x-ms-request-id',
  'x-ms-version',
]);

/** An answer without what all have: status, other headers in their order, body. */
function answer(response: WireResponse): [number, Record<string, string>, string] {
  assert.equal(response.header('x-ms-version'), '2021-12-02');
  assert.match(response.header('x-ms-request-id') ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(response.header('content-length'), String(response.body.length));
  const own = response.headers.filter(([name]) => !common.has(name.toLowerCase()));
  return [response.status, Object.fromEntries(own), response.text];
}

const xmlHeaders = { 'Content-Type': 'application/xml', 'Cache-Control': 'no-cache' };

function xml(body: string): [number, Record<string, string>, string] {
  return [200, xmlHeaders, `${xmlDeclaration}${body}`];
}

function empty(status: number): [number, Record<string, string>, string] {
  return [status, {}, ''];
}

/** The elements of a message that a test cannot know. */
async function putOne(queue: string, query = ''): Promise<{ id: string; receipt: string }> {
  const path = `/${queue}/messages${query}`;
  const response = await queues.expect(201, { method: 'POST', path, body: messageBody('text') });
  const [{ MessageId: id = '', PopReceipt: receipt = '' } = {}] = messagesOf(response);
  return { id, receipt };
}

describe('a queue over the wire', () => {
  it('is created, changed, looked at and deleted', async () => {
    const path = '/raw-queue';
    const headers = { 'x-ms-meta-Colour': 'blue', 'X-Ms-Meta-size_2': '7' };
    assert.deepEqual(answer(await queues.send({ method: 'PUT', path, headers })), empty(201));
    assert.deepEqual(answer(await queues.send({ method: 'PUT', path, headers })), empty(204));
    const seen = [
      200,
      {
        'Cache-Control': 'no-cache',
        'x-ms-meta-Colour': 'blue',
        'x-ms-meta-size_2': '7',
        'x-ms-approximate-messages-count': '0',
      },
      '',
    ];
    assert.deepEqual(answer(await queues.send({ path: `${path}?comp=metadata` })), seen);
    const head = await queues.send({ method: 'HEAD', path: `${path}?comp=metadata` });
    assert.deepEqual(answer(head), seen);
    const cleared = await queues.send({ method: 'PUT', path: `${path}?comp=metadata` });
    assert.deepEqual(answer(cleared), empty(204));
    const after = await queues.send({ path: `${path}?comp=metadata` });
    assert.deepEqual(answer(after)[1], {
      'Cache-Control': 'no-cache',
      'x-ms-approximate-messages-count': '0',
    });
    assert.deepEqual(answer(await queues.send({ method: 'DELETE', path })), empty(204));
    assert.equal((await queues.send({ method: 'DELETE', path })).status, 404);
  });

  it('is created whatever the body says', async () => {
    const request = { method: 'PUT', path: '/with-body', body: 'nobody reads this' };
    assert.deepEqual(answer(await queues.send(request)), empty(201));
  });

  it('has a percent-encoded name that is decoded once', async () => {
    await queues.expect(201, { method: 'PUT', path: '/%72aw-%71' });
    await queues.expect(200, { path: '/raw-q?comp=metadata' });
    assert.equal((await queues.send({ path: '/%2572aw-q?comp=metadata' })).status, 400);
  });

  it('has access policies', async () => {
    const queue = await queues.newQueue('policies');
    const path = `/${queue}?comp=acl`;
    const none = xml('<SignedIdentifiers />');
    assert.deepEqual(answer(await queues.send({ path })), none);
    const policy =
      '<SignedIdentifier><Id>one</Id><AccessPolicy>' +
      '<Start>2024-03-01</Start><Expiry>2024-03-02T01:02:03+01:00</Expiry>' +
      '<Permission>raup</Permission></AccessPolicy></SignedIdentifier>';
    const body = `<SignedIdentifiers>${policy}</SignedIdentifiers>`;
    assert.deepEqual(answer(await queues.send({ method: 'PUT', path, body })), empty(204));
    const stored = policy
      .replace('2024-03-01<', '2024-03-01T00:00:00.0000000Z<')
      .replace('2024-03-02T01:02:03+01:00', '2024-03-02T00:02:03.0000000Z');
    const listed = xml(`<SignedIdentifiers>${stored}</SignedIdentifiers>`);
    assert.deepEqual(answer(await queues.send({ path })), listed);
    const head = await queues.send({ method: 'HEAD', path });
    assert.deepEqual([head.status, head.text], [200, '']);
    assert.deepEqual(answer(await queues.send({ method: 'PUT', path })), empty(204));
    assert.deepEqual(answer(await queues.send({ path })), none);
  });
});

describe('a message over the wire', () => {
  it('is put, with and without an answer', async () => {
    const queue = await queues.newQueue('put');
    const path = `/${queue}/messages?visibilitytimeout=60&messagettl=-1`;
    const response = await queues.send({ method: 'POST', path, body: messageBody('a < b') });
    const [message] = messagesOf(response);
    assert.deepEqual(answer(response), [
      201,
      xmlHeaders,
      `${xmlDeclaration}<QueueMessagesList><QueueMessage>` +
        `<MessageId>${message?.MessageId}</MessageId><InsertionTime>${now}</InsertionTime>` +
        '<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime>' +
        `<PopReceipt>${message?.PopReceipt}</PopReceipt>` +
        '<TimeNextVisible>Fri, 01 Mar 2024 12:01:00 GMT</TimeNextVisible>' +
        '</QueueMessage></QueueMessagesList>',
    ]);
    const put = { method: 'POST', path: `/${queue}/messages`, body: messageBody('old') };
    const old = await queues.send({ ...put, version: '2015-12-11' });
    assert.deepEqual([old.status, old.text, old.header('content-type')], [201, '', undefined]);
    const first = await queues.send({ ...put, version: '2016-05-31' });
    assert.equal(messagesOf(first).length, 1);
  });

  it('is peeked, taken and looked for again', async () => {
    const queue = await queues.newQueue('get');
    const { id } = await putOne(queue);
    const times =
      `<MessageId>${id}</MessageId><InsertionTime>${now}</InsertionTime>` +
      `<ExpirationTime>${weekLater}</ExpirationTime>`;
    const peek = `/${queue}/messages?peekonly=true`;
    const peeked =
      `<QueueMessagesList><QueueMessage>${times}<DequeueCount>0</DequeueCount>` +
      '<MessageText>text</MessageText></QueueMessage></QueueMessagesList>';
    assert.deepEqual(answer(await queues.send({ path: peek })), xml(peeked));
    const taken = await queues.send({ path: `/${queue}/messages?visibilitytimeout=90` });
    const receipt = messagesOf(taken)[0]?.PopReceipt;
    const got =
      `<QueueMessagesList><QueueMessage>${times}<PopReceipt>${receipt}</PopReceipt>` +
      '<TimeNextVisible>Fri, 01 Mar 2024 12:01:30 GMT</TimeNextVisible>' +
      '<DequeueCount>1</DequeueCount><MessageText>text</MessageText>' +
      '</QueueMessage></QueueMessagesList>';
    assert.deepEqual(answer(taken), xml(got));
    const none = xml('<QueueMessagesList />');
    assert.deepEqual(answer(await queues.send({ path: `/${queue}/messages` })), none);
    assert.deepEqual(answer(await queues.send({ path: peek })), none);
  });

  it('says nothing of its count before 2009-09-19', async () => {
    const queue = await queues.newQueue('uncounted');
    await putOne(queue);
    for (const query of ['?peekonly=true', '']) {
      const path = `/${queue}/messages${query}`;
      const response = await queues.expect(200, { path, version: '2009-07-17' });
      const [message] = messagesOf(response);
      assert.deepEqual([message?.MessageText, message?.DequeueCount], ['text', undefined]);
    }
  });

  it('is updated, deleted and cleared away', async () => {
    const queue = await queues.newQueue('change');
    const { id, receipt } = await putOne(queue);
    const held = `/${queue}/messages/${id}?visibilitytimeout=5&popreceipt=${receipt}`;
    const updated = await queues.send({ method: 'PUT', path: held, body: messageBody('new') });
    const renewed = updated.header('x-ms-popreceipt') ?? '';
    assert.notEqual(renewed, receipt);
    assert.deepEqual(answer(updated), [
      204,
      {
        'x-ms-popreceipt': renewed,
        'x-ms-time-next-visible': 'Fri, 01 Mar 2024 12:00:05 GMT',
      },
      '',
    ]);
    assert.equal((await queues.send({ method: 'PUT', path: held })).status, 404);
    const path = `/${queue}/messages/${id}?popreceipt=${renewed}`;
    assert.deepEqual(answer(await queues.send({ method: 'DELETE', path })), empty(204));
    await putOne(queue, '?visibilitytimeout=60');
    const clear = { method: 'DELETE', path: `/${queue}/messages` };
    assert.deepEqual(answer(await queues.send(clear)), empty(204));
    assert.equal(await queues.count(queue), 0);
  });
});

describe('the queue service over the wire', () => {
  it('lists pages of queues', async () => {
    for (const name of ['list-a', 'list-b', 'list-c']) {
      const headers = { 'x-ms-meta-Name': `${name} & co` };
      await queues.expect(201, { method: 'PUT', path: `/${name}`, headers });
    }
    const root = `<EnumerationResults ServiceEndpoint="http://127.0.0.1:${server.queuePort}/devstoreaccount1/">`;
    const queueOf = (name: string) =>
      `<Queue><Name>${name}</Name><Metadata><Name>${name} &amp; co</Name></Metadata></Queue>`;
    const path = '/?comp=list&prefix=list-&maxresults=2&include=metadata';
    assert.deepEqual(
      answer(await queues.send({ path })),
      xml(
        `${root}<Prefix>list-</Prefix><MaxResults>2</MaxResults>` +
          `<Queues>${queueOf('list-a')}${queueOf('list-b')}</Queues>` +
          '<NextMarker>/devstoreaccount1/list-c</NextMarker></EnumerationResults>',
      ),
    );
    const rest = '/?comp=list&prefix=list-&marker=%2Fdevstoreaccount1%2Flist-c';
    assert.deepEqual(
      answer(await queues.send({ path: rest })),
      xml(
        `${root}<Prefix>list-</Prefix><Marker>/devstoreaccount1/list-c</Marker>` +
          '<Queues><Queue><Name>list-c</Name></Queue></Queues><NextMarker /></EnumerationResults>',
      ),
    );
  });

  it('keeps its properties', async () => {
    const path = '/?restype=service&comp=properties';
    const before = await queues.expect(200, { path });
    const rules =
      '<Cors><CorsRule><AllowedMethods>GET,PUT</AllowedMethods>' +
      '<AllowedOrigins>http://a.example</AllowedOrigins><AllowedHeaders />' +
      '<ExposedHeaders>x-ms-meta-*</ExposedHeaders><MaxAgeInSeconds>500</MaxAgeInSeconds>' +
      '</CorsRule></Cors>';
    const body = `<StorageServiceProperties>${rules}</StorageServiceProperties>`;
    assert.deepEqual(answer(await queues.send({ method: 'PUT', path, body })), empty(202));
    const [status, headers, text] = answer(await queues.send({ path }));
    assert.deepEqual([status, headers], [200, { ...xmlHeaders, Vary: 'Origin' }]);
    assert.equal(text, before.text.replace('<Cors />', rules));
    const none = '<StorageServiceProperties><Cors /></StorageServiceProperties>';
    assert.deepEqual(answer(await queues.send({ method: 'PUT', path, body: none })), empty(202));
  });

  it('has statistics on the secondary endpoint', async () => {
    const target = '/devstoreaccount1-secondary/?restype=service&comp=stats';
    assert.deepEqual(
      answer(await queues.send({ target })),
      xml(
        '<StorageServiceStats><GeoReplication><Status>live</Status>' +
          `<LastSyncTime>${now}</LastSyncTime></GeoReplication></StorageServiceStats>`,
      ),
    );
  });
});
