import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { isRefusal } from '../kit/malformed-http.js';
import { generator, mutate, visible } from '../kit/mutation.js';
import { messageBody } from '../kit/queue-client.js';
import { startQueueFixture } from '../kit/server.js';
import { costly } from '../../support/run-length.js';

// For any body sent to queues the response is a documented 4xx: never a 5xx, a hang or a crash.

const { queues } = await startQueueFixture();
const queue = await queues.newQueue('hostile');

describe('bodies that are no message', () => {
  const body = messageBody('lies');
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
      assert.equal(await queues.count(queue), 0);
    });
  }

  it('access policies and properties take no such thing either', async () => {
    for (const path of [`/${queue}?comp=acl`, '/?restype=service&comp=properties']) {
      const before = (await queues.expect(200, { path })).text;
      for (const [name, text] of texts) {
        if (name === 'white space') continue;
        const response = await queues.send({ method: 'PUT', path, body: text });
        assert.ok(isRefusal(response.status), `${name}: ${response.status}`);
        assert.match(response.header('x-ms-error-code') ?? '', /^[A-Z]\w+$/);
      }
      assert.equal((await queues.expect(200, { path })).text, before);
    }
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
  it('are refused, whatever byte of a good one is changed', costly(), async () => {
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
