import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendBytes } from '../kit/connection.js';
import { assertQueueError } from '../kit/errors.js';
import { assertRefused, isRefusal, malformedHttp, statusesOf } from '../kit/malformed-http.js';
import { generator, mutate, visible } from '../kit/mutation.js';
import { messageBody, messagePath, type QueueRequest } from '../kit/queue-client.js';
import { startQueueFixture } from '../kit/server.js';
import { mutationSeed, sendSpoilt, sendWithChangedBytes } from '../kit/spoilt-load.js';

// Whatever arrives at the queues, the answer is a documented 4xx: never a 5xx, a hang or a crash.

const { server, queues } = await startQueueFixture();
const port = server.queuePort;
const queue = 'hostile';
await queues.expect(201, { method: 'PUT', path: `/${queue}` });

await queues.expect(201, {
  method: 'PUT',
  path: '/canary',
  headers: { 'x-ms-meta-A': 'unharmed' },
});
const identifiers =
  '<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>';
await queues.expect(204, { method: 'PUT', path: '/canary?comp=acl', body: identifiers });
for (const text of ['one', '<two> & 😀', '']) await queues.put('canary', text);

/** All that there is to see of the canary. */
async function canaryText(): Promise<string> {
  const messages = await queues.expect(200, {
    path: '/canary/messages?peekonly=true&numofmessages=32',
  });
  const metadata = await queues.expect(200, { path: '/canary?comp=metadata' });
  const acl = await queues.expect(200, { path: '/canary?comp=acl' });
  const count = metadata.header('x-ms-approximate-messages-count');
  return [messages.text, acl.text, metadata.header('x-ms-meta-A'), count].join('\n');
}

const unharmed = await canaryText();

/** The server still serves, and what was stored is what was stored. */
async function assertUnharmed(): Promise<void> {
  const health = await queues.send({ target: '/healthz', auth: 'none' });
  assert.equal(health.status, 200);
  assert.equal(await canaryText(), unharmed);
}

describe('malformed HTTP at the queues', () => {
  for (const [name, bytes] of malformedHttp) {
    it(`${name} is refused`, () => assertRefused(port, bytes));
  }

  it('left everything as it was', assertUnharmed);
});

describe('bodies of messages that are not what they say', () => {
  const putBytes = (headers: Record<string, string | undefined>, body: string) =>
    queues.bytes({ method: 'POST', path: `/${queue}/messages`, body, headers });
  const body = messageBody('lies');
  const assertNothingPut = async () => assert.equal(await queues.count(queue), 0);

  it('one cut short puts nothing', async () => {
    const bytes = putBytes({ 'Content-Length': String(body.length + 10) }, body);
    const { received } = await sendBytes(port, bytes, { endAfter: true });
    assert.ok(statusesOf(received).every(isRefusal));
    await assertNothingPut();
  });

  it('bytes behind one are not part of it', async () => {
    const bytes = putBytes({ 'Content-Length': String(body.length - 1) }, body);
    const { received } = await sendBytes(port, bytes, { quietMs: 300 });
    const statuses = statusesOf(received);
    assert.equal(statuses[0], 400);
    assert.ok(statuses.every(isRefusal), statuses.join(', '));
    await assertNothingPut();
  });

  it('a chunked one that ends early puts nothing', async () => {
    const head = putBytes({ 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }, '');
    const bytes = Buffer.concat([head, Buffer.from(`${body.length.toString(16)}\r\n${body}\r\n`)]);
    const { received } = await sendBytes(port, bytes, { endAfter: true });
    assert.ok(statusesOf(received).every(isRefusal));
    await assertNothingPut();
  });

  it('a whole chunked one is taken', async () => {
    const head = putBytes({ 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }, '');
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const response = await queues.sendRaw(Buffer.concat([head, Buffer.from(chunk)]));
    assert.equal(response.status, 201, response.text);
    assert.deepEqual(await queues.texts(queue), ['lies']);
    await queues.expect(204, { method: 'DELETE', path: `/${queue}/messages` });
  });

  const inside = (text: string) =>
    `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;
  const entities = Array.from(
    { length: 10 },
    (_, index) => `<!ENTITY e${index + 1} "${`&e${index};`.repeat(10)}">`,
  );
  const texts: readonly (readonly [name: string, body: Buffer | string])[] = [
    ['white space', '  \r\n '],
    ['UTF-16', Buffer.from(`\uFEFF${body}`, 'utf16le')],
    [
      'UTF-16 that says so',
      Buffer.from(`<?xml version="1.0" encoding="utf-16"?>${body}`, 'utf16le'),
    ],
    [
      'Latin-1 that says so',
      Buffer.from(`<?xml version="1.0" encoding="iso-8859-1"?>${inside('\xe9')}`, 'latin1'),
    ],
    [
      'UTF-8 cut in a character',
      Buffer.concat([Buffer.from(body.slice(0, 30)), Buffer.of(0xf0, 0x9f)]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([
        Buffer.from('<QueueMessage><MessageText>'),
        Buffer.of(0xed, 0xa0, 0x80),
        Buffer.from('</MessageText></QueueMessage>'),
      ]),
    ],
    [
      'an overlong zero',
      Buffer.concat([
        Buffer.from('<QueueMessage><MessageText>'),
        Buffer.of(0xc0, 0x80),
        Buffer.from('</MessageText></QueueMessage>'),
      ]),
    ],
    ['a billion laughs', `<!DOCTYPE l [<!ENTITY e0 "lol">${entities.join('')}]>${inside('&e10;')}`],
    [
      'a file of the machine',
      `<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/passwd">]>${inside('&f;')}`,
    ],
    ['a document type of elsewhere', `<!DOCTYPE l SYSTEM "http://127.0.0.1:1/x.dtd">${body}`],
    ['an endless entity name', inside(`&${'a'.repeat(100_000)}`)],
    ['a reference to no character', inside('&#x110000;')],
    ['a reference to a surrogate', inside('&#xD800;')],
    ['a reference to nothing', inside('&#;')],
    ['a bare ampersand', inside('a & b')],
    ['a bare less-than', inside('a < b')],
    ['the end of CDATA', inside('a ]]> b')],
    ['CDATA without an end', '<QueueMessage><MessageText><![CDATA[x'],
    ['a comment without an end', '<QueueMessage><!-- x'],
    ['elements in each other', inside('<a>'.repeat(20_000))],
    ['closed elements in each other', inside('<a>'.repeat(15_000) + '</a>'.repeat(15_000))],
    [
      'many attributes',
      `<QueueMessage ${Array.from({ length: 5000 }, (_, index) => `a${index}="1"`).join(' ')}>`,
    ],
    ['an attribute twice', '<QueueMessage a="1" a="2"><MessageText>x</MessageText></QueueMessage>'],
    ['a tag that is never closed', `<QueueMessage${' '.repeat(100_000)}`],
    ['a declaration behind the start', ` <?xml version="1.0"?>${body}`],
    [
      'two texts',
      '<QueueMessage><MessageText>a</MessageText><MessageText>b</MessageText></QueueMessage>',
    ],
    ['brackets', '<'.repeat(130_000)],
    ['ampersands', inside('&'.repeat(100_000))],
    ['quotes', '<QueueMessage a="'.repeat(7000)],
  ];
  for (const [name, text] of texts) {
    it(`${name}: 400`, async () => {
      const response = await queues.send({
        method: 'POST',
        path: `/${queue}/messages`,
        body: text,
      });
      assertQueueError(response, { status: 400, code: 'InvalidXmlDocument' });
      await assertNothingPut();
    });
  }

  it('access policies and properties take no such thing either', async () => {
    for (const path of [`/${queue}?comp=acl`, '/?restype=service&comp=properties']) {
      for (const [name, text] of texts) {
        if (name === 'white space') continue;
        const response = await queues.send({ method: 'PUT', path, body: text });
        assert.ok(isRefusal(response.status), `${name}: ${response.status}`);
        assert.match(response.header('x-ms-error-code') ?? '', /^[A-Z]\w+$/);
      }
    }
    await assertUnharmed();
  });

  it('metadata of a thousand headers is refused', async () => {
    const headers = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`x-ms-meta-name${index}`, 'value']),
    );
    const response = await queues.send({ method: 'PUT', path: '/many-headers', headers });
    assert.ok(isRefusal(response.status), String(response.status));
    assertQueueError(await queues.send({ path: '/many-headers?comp=metadata' }), {
      status: 404,
      code: 'QueueNotFound',
    });
  });

  it('metadata called __proto__ or constructor is metadata', async () => {
    const headers = { 'x-ms-meta-__proto__': '1', 'x-ms-meta-constructor': '2' };
    const name = await queues.newQueue('proto', headers);
    const response = await queues.expect(200, { path: `/${name}?comp=metadata` });
    assert.equal(response.header('x-ms-meta-__proto__'), '1');
    assert.equal(response.header('x-ms-meta-constructor'), '2');
  });
});

describe('receipts made to hurt', () => {
  it('are refused, whatever byte of a good one is changed', async () => {
    const sent = await queues.put(queue, 'x');
    const good = sent.PopReceipt ?? '';
    const random = generator(1);
    for (let count = 0; count < 500; count += 1) {
      const PopReceipt = visible(mutate(Buffer.from(good), random));
      if (PopReceipt === good || PopReceipt === '') continue;
      const response = await queues.delete(queue, { ...sent, PopReceipt });
      const { status } = response;
      assert.ok(status === 400 || status === 404, `${PopReceipt}: ${status} ${response.text}`);
    }
    assert.deepEqual(await queues.texts(queue), ['x']);
    assert.equal((await queues.delete(queue, sent)).status, 204);
  });
});

/** Requests that are right, to be spoilt. None of them may reach the canary by one change. */
function validRequests(): QueueRequest[] {
  const message = {
    MessageId: '018df9e2-b200-7000-8000-0551be9e6de4',
    PopReceipt: 'AQGN-eKyAHAAgAAFUb6ebeRDGEpgdh1AAEMYSmB2HUAM',
  };
  const path = `/${queue}/messages`;
  return [
    { method: 'PUT', path: '/hostile-2', headers: { 'x-ms-meta-Name': 'value' } },
    { path: '/?comp=list&prefix=hos&maxresults=2&include=metadata&marker=/devstoreaccount1/hos' },
    { path: `/${queue}?comp=metadata` },
    { method: 'PUT', path: `/${queue}?comp=metadata`, headers: { 'x-ms-meta-Name': 'value' } },
    { path: `/${queue}?comp=acl` },
    { method: 'PUT', path: `/${queue}?comp=acl`, body: identifiers },
    { method: 'POST', path: `${path}?visibilitytimeout=1&messagettl=60`, body: messageBody('a&b') },
    { path: `${path}?numofmessages=5&visibilitytimeout=30` },
    { path: `${path}?peekonly=true&numofmessages=5` },
    {
      method: 'PUT',
      path: messagePath(queue, message, { visibilitytimeout: 5 }),
      body: messageBody('updated'),
    },
    { method: 'DELETE', path: messagePath(queue, message) },
    { method: 'DELETE', path },
    { path: '/?restype=service&comp=properties' },
  ];
}

describe('8,000 mutated requests of queues', () => {
  const valid = validRequests();

  it(`signed, so that they reach the inner parsers (seed ${mutationSeed})`, async () => {
    const names = ['x-ms-meta-Name', 'Content-Type', 'x-ms-version', 'Content-MD5', 'Origin'];
    const headers = { names, value: '2021-12-02' };
    const seen = await sendSpoilt(queues, { count: 6000, valid }, headers);
    await assertUnharmed();
    for (const status of [200, 204, 400, 404]) {
      assert.ok((seen.get(status) ?? 0) > 50, `only ${seen.get(status)} answers with ${status}`);
    }
  });

  it(`with any byte of the whole request changed (seed ${mutationSeed})`, async () => {
    await sendWithChangedBytes(queues, { count: 2000, valid });
    await assertUnharmed();
  });
});
