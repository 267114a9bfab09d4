import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { messageBody, messagePath, type QueryValues } from '../kit/queue-client.js';
import type { QueueMessage } from '../kit/queue-xml.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

// queue-service §13: messages, every row of queue-service §8.1 to §8.7 and every statement of
// queue-service §9.

const { queues, wait, clock } = await startQueueFixture();
const weekSeconds = 604_800;
const never = 'Fri, 31 Dec 9999 23:59:59 GMT';
const messageNotFound = { status: 404, code: 'MessageNotFound' } as const;

/** The server's time some seconds from now, as messages show it. */
function httpDate(secondsFromNow = 0): string {
  return new Date(clock.nowMicros() / 1000 + secondsFromNow * 1000).toUTCString();
}

function send(method: string, path: string, body?: string): Promise<WireResponse> {
  return queues.send({ method, path, ...(body === undefined ? {} : { body }) });
}

function queryOf(values: QueryValues): string {
  const parts = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

const put = (queue: string, values: QueryValues) =>
  send('POST', `/${queue}/messages${queryOf(values)}`, messageBody('x'));
const get = (queue: string, values: QueryValues) =>
  send('GET', `/${queue}/messages${queryOf(values)}`);

function assertOutOfRange(
  response: WireResponse,
  name: string,
  value: string | number,
  range: readonly [from: number, to: number],
): void {
  assertQueueError(response, {
    status: 400,
    code: 'OutOfRangeQueryParameterValue',
    details: [
      ['QueryParameterName', name],
      ['QueryParameterValue', String(value)],
      ['MinimumAllowed', String(range[0])],
      ['MaximumAllowed', String(range[1])],
    ],
  });
}

function assertInvalid(response: WireResponse, name: string, value: string | number): void {
  const details = assertQueueError(response, { status: 400, code: 'InvalidQueryParameterValue' });
  assert.deepEqual(details.slice(0, 2), [
    ['QueryParameterName', name],
    ['QueryParameterValue', String(value)],
  ]);
  assert.equal(details[2]?.[0], 'Reason');
  assert.notEqual(details[2]?.[1], '');
}

function assertMissing(response: WireResponse, name: string): void {
  assertQueueError(response, {
    status: 400,
    code: 'MissingRequiredQueryParameter',
    details: [['QueryParameterName', name]],
  });
}

describe('queue-service §8: what the elements of a message are', () => {
  it('in their order for put, get and peek', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x', { visibilitytimeout: 0 });
    assert.deepEqual(Object.keys(sent), [
      'MessageId',
      'InsertionTime',
      'ExpirationTime',
      'PopReceipt',
      'TimeNextVisible',
    ]);
    const [peeked] = await queues.peek(queue);
    assert.deepEqual(Object.keys(peeked ?? {}), [
      'MessageId',
      'InsertionTime',
      'ExpirationTime',
      'DequeueCount',
      'MessageText',
    ]);
    assert.deepEqual(Object.keys(await queues.getOne(queue)), [
      'MessageId',
      'InsertionTime',
      'ExpirationTime',
      'PopReceipt',
      'TimeNextVisible',
      'DequeueCount',
      'MessageText',
    ]);
  });

  it('an empty result is an empty list, status 200', async () => {
    const queue = await queues.newQueue();
    for (const values of [{}, { peekonly: 'true' }]) {
      const response = await get(queue, values);
      assert.equal(response.status, 200);
      assert.equal(response.text, '<?xml version="1.0" encoding="utf-8"?><QueueMessagesList />');
    }
  });
});

describe('queue-service §8.1: put', () => {
  it('has 0 seconds of invisibility and 7 days of life by default', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x');
    assert.equal(sent.InsertionTime, httpDate());
    assert.equal(sent.TimeNextVisible, httpDate());
    assert.equal(sent.ExpirationTime, httpDate(weekSeconds));
  });

  it('takes 0 to 604,800 seconds of invisibility', async () => {
    const queue = await queues.newQueue();
    for (const visibilitytimeout of [0, 1, weekSeconds]) {
      const sent = await queues.put(queue, 'x', { visibilitytimeout, messagettl: weekSeconds + 1 });
      assert.equal(sent.TimeNextVisible, httpDate(visibilitytimeout));
    }
    for (const visibilitytimeout of [-1, weekSeconds + 1, 9_999_999_999]) {
      const response = await put(queue, { visibilitytimeout, messagettl: -1 });
      const range = [0, weekSeconds] as const;
      assertOutOfRange(response, 'visibilitytimeout', visibilitytimeout, range);
    }
    for (const visibilitytimeout of ['x', '1.5', '']) {
      assertInvalid(
        await put(queue, { visibilitytimeout }),
        'visibilitytimeout',
        visibilitytimeout,
      );
    }
    assert.equal(await queues.count(queue), 3);
  });

  it('wants the invisibility to be smaller than the time to live', async () => {
    const queue = await queues.newQueue();
    for (const [visibilitytimeout, messagettl] of [
      [60, 60],
      [61, 60],
      [weekSeconds, weekSeconds],
    ]) {
      const response = await put(queue, { visibilitytimeout, messagettl });
      assertInvalid(response, 'visibilitytimeout', visibilitytimeout ?? '');
    }
    await queues.put(queue, 'x', { visibilitytimeout: 59, messagettl: 60 });
    await queues.put(queue, 'x', { visibilitytimeout: weekSeconds, messagettl: -1 });
    assert.equal(await queues.count(queue), 2);
  });

  it('with a time to live of -1 never expires, and one beyond the end of time is cut', async () => {
    const queue = await queues.newQueue();
    for (const messagettl of [-1, 252_000_000_000, 999_999_999_999]) {
      const sent = await queues.put(queue, 'x', { messagettl });
      assert.equal(sent.ExpirationTime, never, String(messagettl));
    }
    const [peeked] = await queues.peek(queue);
    assert.equal(peeked?.ExpirationTime, never);
  });

  it('refuses a time to live of 0, of other negatives and what is no number', async () => {
    const queue = await queues.newQueue();
    for (const messagettl of [0, -2, 'x', '1.5', '']) {
      assertInvalid(await put(queue, { messagettl }), 'messagettl', messagettl);
    }
    assert.equal(await queues.count(queue), 0);
  });

  it('takes names of parameters in any case', async () => {
    const queue = await queues.newQueue();
    const response = await put(queue, { VisibilityTimeout: 5, MESSAGETTL: 10 });
    assert.equal(response.status, 201);
    assert.match(response.text, new RegExp(`<TimeNextVisible>${httpDate(5)}<`));
    assert.match(response.text, new RegExp(`<ExpirationTime>${httpDate(10)}<`));
  });

  const bodies: readonly (readonly [name: string, body: string, text: string])[] = [
    ['a declaration', `<?xml version="1.0" encoding="utf-8"?>${messageBody('x')}`, 'x'],
    [
      'the declaration of the Node client',
      `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>${messageBody('x')}`,
      'x',
    ],
    ['a byte order mark', `\uFEFF${messageBody('x')}`, 'x'],
    [
      'white space around the elements',
      '\r\n<QueueMessage>\r\n  <MessageText> x </MessageText>\r\n</QueueMessage>\r\n',
      ' x ',
    ],
    ['entities', messageBody('<>&'), '<>&'],
    [
      'character references',
      '<QueueMessage><MessageText>&#65;&#x1F600;&quot;&apos;&#10;</MessageText></QueueMessage>',
      'A😀"\'\n',
    ],
    [
      'a CDATA section',
      '<QueueMessage><MessageText>a<![CDATA[<b>&amp;]]>c</MessageText></QueueMessage>',
      'a<b>&amp;c',
    ],
    ['an empty text', '<QueueMessage><MessageText></MessageText></QueueMessage>', ''],
    ['an empty element', '<QueueMessage><MessageText /></QueueMessage>', ''],
    ['only blanks', '<QueueMessage><MessageText>   </MessageText></QueueMessage>', '   '],
    [
      'carriage returns as they are sent',
      '<QueueMessage><MessageText>a\r\nb\rc</MessageText></QueueMessage>',
      'a\r\nb\rc',
    ],
    [
      'an escaped carriage return',
      '<QueueMessage><MessageText>a&#13;&#10;b&#xD;c</MessageText></QueueMessage>',
      'a\r\nb\rc',
    ],
    [
      'tabs and line feeds',
      '<QueueMessage><MessageText>\ta\n\nb\t</MessageText></QueueMessage>',
      '\ta\n\nb\t',
    ],
  ];
  for (const [name, body, text] of bodies) {
    it(`reads ${name}`, async () => {
      const queue = await queues.newQueue();
      const response = await send('POST', `/${queue}/messages`, body);
      assert.equal(response.status, 201, response.text);
      assert.deepEqual(await queues.texts(queue), [text]);
    });
  }

  const refused: readonly (readonly [name: string, body: string | Buffer])[] = [
    ['nothing', ''],
    ['no XML', 'hello'],
    ['an open element', '<QueueMessage><MessageText>x</MessageText>'],
    ['no MessageText', '<QueueMessage></QueueMessage>'],
    ['names in another case', '<queuemessage><messagetext>x</messagetext></queuemessage>'],
    ['another root', '<Message><MessageText>x</MessageText></Message>'],
    ['an undefined entity', '<QueueMessage><MessageText>&nbsp;</MessageText></QueueMessage>'],
    ['a document type', `<!DOCTYPE a [<!ENTITY b "c">]>${messageBody('x')}`],
    ['a zero byte', '<QueueMessage><MessageText>a\u0000b</MessageText></QueueMessage>'],
    ['a control character', '<QueueMessage><MessageText>&#8;</MessageText></QueueMessage>'],
    ['bytes that are no UTF-8', Buffer.from(messageBody('\xff\xfe'), 'latin1')],
    ['two documents', messageBody('x') + messageBody('y')],
    ['JSON', '{"QueueMessage":{"MessageText":"x"}}'],
  ];
  for (const [name, body] of refused) {
    it(`refuses ${name} with 400 InvalidXmlDocument`, async () => {
      const queue = await queues.newQueue();
      const response = await queues.send({ method: 'POST', path: `/${queue}/messages`, body });
      assertQueueError(response, { status: 400, code: 'InvalidXmlDocument' });
      assert.equal(await queues.count(queue), 0);
    });
  }

  it('takes 65,536 bytes of decoded text and answers 413 with the limit beyond', async () => {
    const queue = await queues.newQueue();
    for (const unit of ['a', 'é', '日', '😀']) {
      const fits = unit.repeat(65_536 / Buffer.byteLength(unit));
      await queues.put(queue, fits);
      const response = await send('POST', `/${queue}/messages`, messageBody(`${fits}${unit}`));
      const limit = [['MaxLimit', '65536']] as const;
      assertQueueError(response, { status: 413, code: 'RequestBodyTooLarge', details: limit });
    }
    assert.equal(await queues.count(queue), 4);
  });

  it('answers 413 with the limit of bodies for a body of more than 131,584 bytes', async () => {
    const queue = await queues.newQueue();
    const around = Buffer.byteLength(messageBody(''));
    const ofBytes = (bytes: number) => `${messageBody('x')}${' '.repeat(bytes - around - 1)}`;
    assert.equal((await send('POST', `/${queue}/messages`, ofBytes(131_584))).status, 201);
    const response = await send('POST', `/${queue}/messages`, ofBytes(131_585));
    const limit = [['MaxLimit', '131584']] as const;
    assertQueueError(response, { status: 413, code: 'RequestBodyTooLarge', details: limit });
    assert.equal(await queues.count(queue), 1);
  });

  it('gives a receipt that deletes and updates at once, visible or not', async () => {
    const queue = await queues.newQueue();
    for (const visibilitytimeout of [0, 60]) {
      const sent = await queues.put(queue, 'x', { visibilitytimeout });
      const updated = await queues.update(queue, sent, { visibility: visibilitytimeout });
      assert.equal(updated.status, 204, updated.text);
      const PopReceipt = updated.header('x-ms-popreceipt') ?? '';
      assert.equal((await queues.delete(queue, { ...sent, PopReceipt })).status, 204);
      const other = await queues.put(queue, 'x', { visibilitytimeout });
      assert.equal((await queues.delete(queue, other)).status, 204);
    }
    assert.equal(await queues.count(queue), 0);
  });
});

describe('queue-service §8.2: get', () => {
  it('takes 1 message for 30 seconds by default', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'a');
    await queues.put(queue, 'b');
    const message = await queues.getOne(queue);
    assert.equal(message.MessageText, 'a');
    assert.equal(message.DequeueCount, '1');
    assert.equal(message.TimeNextVisible, httpDate(30));
  });

  it('refuses 33 messages with the four elements, and 0, and what is no number', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x');
    for (const numofmessages of [33, 0, -1, 1_000_000]) {
      const response = await get(queue, { numofmessages });
      assertOutOfRange(response, 'numofmessages', numofmessages, [1, 32]);
    }
    for (const numofmessages of ['x', '1.5', '', '1e1', '0x1']) {
      assertInvalid(await get(queue, { numofmessages }), 'numofmessages', numofmessages);
    }
    assert.equal((await queues.getOne(queue, { numofmessages: 32 })).DequeueCount, '1');
  });

  it('refuses a visibility of 0 and of more than 7 days', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x', { messagettl: -1 });
    for (const visibilitytimeout of [0, -1, weekSeconds + 1]) {
      const response = await get(queue, { visibilitytimeout });
      assertOutOfRange(response, 'visibilitytimeout', visibilitytimeout, [1, weekSeconds]);
    }
    assertInvalid(await get(queue, { visibilitytimeout: 'x' }), 'visibilitytimeout', 'x');
    const message = await queues.getOne(queue, { visibilitytimeout: weekSeconds });
    assert.equal(message.TimeNextVisible, httpDate(weekSeconds));
  });

  it('may hide a message beyond its expiry', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x', { messagettl: 10 });
    const message = await queues.getOne(queue, { visibilitytimeout: 20 });
    assert.equal(message.TimeNextVisible, httpDate(20));
    wait(20);
    assert.deepEqual(await queues.peek(queue), []);
  });

  it('gives each message once, oldest first, 32 at a time', async () => {
    const queue = await queues.newQueue();
    const texts = Array.from({ length: 70 }, (_, index) => String(index));
    for (const text of texts) await queues.put(queue, text);
    const seen: (string | undefined)[] = [];
    const sizes: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      const got = await queues.get(queue, { numofmessages: 32 });
      sizes.push(got.length);
      seen.push(...got.map(({ MessageText }) => MessageText));
    }
    assert.deepEqual(sizes, [32, 32, 6, 0]);
    assert.deepEqual(seen, texts);
  });
});

describe('queue-service §8.3: peek', () => {
  it('does not count, hide or give receipts', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x');
    for (let count = 0; count < 3; count += 1) {
      const [message] = await queues.peek(queue);
      assert.equal(message?.DequeueCount, '0');
      assert.equal(message?.PopReceipt, undefined);
      assert.equal(message?.TimeNextVisible, undefined);
    }
    const message = await queues.getOne(queue, { visibilitytimeout: 1 });
    assert.equal(message.DequeueCount, '1');
    wait(1);
    assert.equal((await queues.peek(queue))[0]?.DequeueCount, '1');
  });

  it('shows only visible, unexpired messages', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'visible');
    await queues.put(queue, 'hidden', { visibilitytimeout: 10 });
    await queues.put(queue, 'short', { messagettl: 5 });
    assert.deepEqual(await queues.texts(queue), ['visible', 'short']);
    wait(5);
    assert.deepEqual(await queues.texts(queue), ['visible']);
    wait(5);
    assert.deepEqual(await queues.texts(queue), ['visible', 'hidden']);
  });

  it('takes 1 to 32 messages, 1 by default, and no visibility', async () => {
    const queue = await queues.newQueue();
    for (let index = 0; index < 3; index += 1) await queues.put(queue, String(index));
    const peekonly = 'true';
    assert.equal((await queues.get(queue, { peekonly })).length, 1);
    for (const numofmessages of [0, 33]) {
      const response = await get(queue, { peekonly, numofmessages });
      assertOutOfRange(response, 'numofmessages', numofmessages, [1, 32]);
    }
    assert.equal((await queues.peek(queue, { visibilitytimeout: 0 })).length, 3);
  });
});

describe('queue-service §8.4: update', () => {
  it('answers 204 without a body and with receipt and time in headers', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'before');
    const response = await queues.update(queue, sent, { visibility: 60, text: 'after' });
    assert.equal(response.status, 204);
    assert.equal(response.body.length, 0);
    assert.equal(response.header('x-ms-time-next-visible'), httpDate(60));
    assert.notEqual(response.header('x-ms-popreceipt') ?? '', '');
    assert.notEqual(response.header('x-ms-popreceipt'), sent.PopReceipt);
    wait(60);
    const again = await queues.getOne(queue);
    assert.equal(again.MessageText, 'after');
    assert.equal(again.MessageId, sent.MessageId);
    assert.equal(again.InsertionTime, sent.InsertionTime);
    assert.equal(again.ExpirationTime, sent.ExpirationTime);
    assert.equal(again.DequeueCount, '1');
  });

  it('of 0 seconds makes a message visible at once', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x');
    const message = await queues.getOne(queue, { visibilitytimeout: 3600 });
    assert.deepEqual(await queues.texts(queue), []);
    assert.equal((await queues.update(queue, message, { visibility: 0 })).status, 204);
    assert.deepEqual(await queues.texts(queue), ['x']);
  });

  it('without a body keeps the text, with an empty one empties it', async () => {
    const queue = await queues.newQueue();
    let message = await queues.put(queue, 'kept');
    const renewed = async (text?: string) => {
      const response = await queues.update(queue, message, text === undefined ? {} : { text });
      assert.equal(response.status, 204, response.text);
      message = { ...message, PopReceipt: response.header('x-ms-popreceipt') ?? '' };
    };
    await renewed();
    assert.deepEqual(await queues.texts(queue), ['kept']);
    await renewed('');
    assert.deepEqual(await queues.texts(queue), ['']);
    await renewed('again');
    assert.deepEqual(await queues.texts(queue), ['again']);
  });

  it('wants its parameters', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x');
    const base = `/${queue}/messages/${sent.MessageId}`;
    const receipt = encodeURIComponent(sent.PopReceipt ?? '');
    assertMissing(await send('PUT', `${base}?popreceipt=${receipt}`), 'visibilitytimeout');
    assertMissing(await send('PUT', `${base}?visibilitytimeout=0`), 'popreceipt');
    assertMissing(await send('DELETE', base), 'popreceipt');
    assert.equal((await queues.update(queue, sent)).status, 204);
  });

  it('takes 0 to 604,800 seconds, and none beyond the expiry', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x', { messagettl: 60 });
    for (const visibility of [-1, weekSeconds + 1]) {
      const response = await queues.update(queue, sent, { visibility });
      assertOutOfRange(response, 'visibilitytimeout', visibility, [0, weekSeconds]);
    }
    assertInvalid(await queues.update(queue, sent, { visibility: 'x' }), 'visibilitytimeout', 'x');
    assertInvalid(await queues.update(queue, sent, { visibility: 61 }), 'visibilitytimeout', 61);
    assert.equal((await queues.update(queue, sent, { visibility: 59 })).status, 204);
  });

  it('refuses a text that is too long and a body that is no message, and changes nothing', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x');
    const path = messagePath(queue, sent, { visibilitytimeout: 0 });
    const long = await send('PUT', path, messageBody('y'.repeat(65_537)));
    const limit = [['MaxLimit', '65536']] as const;
    assertQueueError(long, { status: 413, code: 'RequestBodyTooLarge', details: limit });
    const other = await send('PUT', path, '<QueueMessage><Other/></QueueMessage>');
    assertQueueError(other, { status: 400, code: 'InvalidXmlDocument' });
    assert.deepEqual(await queues.texts(queue), ['x']);
    assert.equal((await queues.update(queue, sent)).status, 204);
  });
});

describe('queue-service §8.6: clear', () => {
  it('takes visible and invisible messages away and leaves the queue', async () => {
    const queue = await queues.newQueue('cleared', { 'x-ms-meta-a': '1' });
    for (let index = 0; index < 40; index += 1) await queues.put(queue, String(index));
    const held = await queues.getOne(queue);
    await queues.put(queue, 'hidden', { visibilitytimeout: 60 });
    const response = await send('DELETE', `/${queue}/messages`);
    assert.equal(response.status, 204);
    assert.equal(response.body.length, 0);
    assert.equal(await queues.count(queue), 0);
    assertQueueError(await queues.delete(queue, held), messageNotFound);
    wait(60);
    assert.deepEqual(await queues.texts(queue), []);
    const { headers } = await queues.expect(200, { path: `/${queue}?comp=metadata` });
    assert.ok(headers.some(([name]) => name === 'x-ms-meta-a'));
    await queues.put(queue, 'new');
    assert.deepEqual(await queues.texts(queue), ['new']);
  });
});

describe('queue-service §8.7: update and delete that fail', () => {
  const both: readonly (readonly [
    name: string,
    run: (queue: string, message: QueueMessage) => Promise<WireResponse>,
  ])[] = [
    ['update', (queue, message) => queues.update(queue, message, { text: 'changed' })],
    ['delete', (queue, message) => queues.delete(queue, message)],
  ];
  for (const [name, run] of both) {
    it(`${name}: the queue is missing`, async () => {
      const sent = await queues.put(await queues.newQueue(), 'x');
      assertQueueError(await run('missing', sent), { status: 404, code: 'QueueNotFound' });
    });

    it(`${name}: the message is unknown, deleted or expired`, async () => {
      const queue = await queues.newQueue();
      const sent = await queues.put(queue, 'x');
      const MessageId = '5974b586-0df3-4e2d-ad0c-18e3892bfca2';
      assertQueueError(await run(queue, { ...sent, MessageId }), messageNotFound);
      assert.equal((await queues.delete(queue, sent)).status, 204);
      assertQueueError(await run(queue, sent), messageNotFound);
      const short = await queues.put(queue, 'short', { messagettl: 1 });
      wait(1);
      assertQueueError(await run(queue, short), messageNotFound);
      assert.equal(await queues.count(queue), 0);
    });

    for (const receipt of ['x', 'not a receipt', 'AAAA', '%', '0', 'a'.repeat(3000), '😀']) {
      it(`${name}: the receipt is none: ${receipt.slice(0, 20)}`, async () => {
        const queue = await queues.newQueue();
        const sent = await queues.put(queue, 'x');
        const response = await run(queue, { ...sent, PopReceipt: receipt });
        assertInvalid(response, 'popreceipt', receipt);
        assert.deepEqual(await queues.texts(queue), ['x']);
      });
    }

    it(`${name}: the receipt is stale after a second get`, async () => {
      const queue = await queues.newQueue();
      const sent = await queues.put(queue, 'x');
      const first = await queues.getOne(queue, { visibilitytimeout: 1 });
      wait(1);
      const second = await queues.getOne(queue, { visibilitytimeout: 60 });
      for (const stale of [sent, first]) {
        assertQueueError(await run(queue, stale), messageNotFound);
      }
      assert.equal((await run(queue, second)).status, 204);
    });

    it(`${name}: the receipt is stale after an update`, async () => {
      const queue = await queues.newQueue();
      const sent = await queues.put(queue, 'x');
      const updated = await queues.update(queue, sent);
      assertQueueError(await run(queue, sent), messageNotFound);
      const PopReceipt = updated.header('x-ms-popreceipt') ?? '';
      assert.equal((await run(queue, { ...sent, PopReceipt })).status, 204);
    });

    it(`${name}: the receipt belongs to another message or queue`, async () => {
      const queue = await queues.newQueue();
      const [one, two] = [await queues.put(queue, '1'), await queues.put(queue, '2')];
      const elsewhere = await queues.put(await queues.newQueue(), '3');
      for (const { PopReceipt } of [two, elsewhere]) {
        const response = await run(queue, { ...one, ...(PopReceipt && { PopReceipt }) });
        assertQueueError(response, messageNotFound);
      }
      assertQueueError(await run(queue, elsewhere), messageNotFound);
      assert.deepEqual(await queues.texts(queue), ['1', '2']);
    });

    it(`${name}: the message id is no GUID`, async () => {
      const queue = await queues.newQueue();
      const sent = await queues.put(queue, 'x');
      for (const MessageId of ['x', '42', `${sent.MessageId}0`, '%20']) {
        assertQueueError(await run(queue, { ...sent, MessageId }), messageNotFound);
      }
    });

    it(`${name}: the receipt is valid after the timeout when nobody has got the message`, async () => {
      const queue = await queues.newQueue();
      await queues.put(queue, 'x');
      const got = await queues.getOne(queue, { visibilitytimeout: 5 });
      wait(60);
      assert.deepEqual(await queues.texts(queue), ['x']);
      assert.equal((await run(queue, got)).status, 204);
    });
  }
});

describe('queue-service §9: what messages do', () => {
  it('ids are lower-case GUIDs, each its own', async () => {
    const queue = await queues.newQueue();
    const ids = new Set<string>();
    for (let index = 0; index < 50; index += 1) {
      const { MessageId = '' } = await queues.put(queue, 'x');
      assert.match(MessageId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      ids.add(MessageId);
    }
    assert.equal(ids.size, 50);
  });

  it('a message is visible from its time on and to its expiry, to the microsecond', async () => {
    const queue = await queues.newQueue();
    clock.advanceMicros(123_456);
    await queues.put(queue, 'x', { visibilitytimeout: 10, messagettl: 20 });
    clock.advanceMicros(9_999_999);
    assert.deepEqual(await queues.texts(queue), []);
    clock.advanceMicros(1);
    assert.deepEqual(await queues.texts(queue), ['x']);
    clock.advanceMicros(9_999_999);
    assert.deepEqual(await queues.texts(queue), ['x']);
    clock.advanceMicros(1);
    assert.deepEqual(await queues.texts(queue), []);
  });

  it('times are kept exactly and shown cut off to seconds', async () => {
    const queue = await queues.newQueue();
    clock.advanceMicros(1_000_000 - (clock.nowMicros() % 1_000_000) + 999_999);
    const shown = httpDate();
    const sent = await queues.put(queue, 'x', { visibilitytimeout: 1 });
    assert.equal(sent.InsertionTime, shown);
    clock.advanceMicros(1);
    assert.deepEqual(await queues.texts(queue), [], 'not visible in the next second yet');
  });

  it('every get and every update gives a receipt of its own', async () => {
    const queue = await queues.newQueue();
    let message = await queues.put(queue, 'x');
    const receipts = new Set([message.PopReceipt]);
    for (let count = 0; count < 4; count += 1) {
      message = await queues.getOne(queue, { visibilitytimeout: 1 });
      receipts.add(message.PopReceipt);
      const updated = await queues.update(queue, message);
      receipts.add(updated.header('x-ms-popreceipt'));
    }
    assert.equal(receipts.size, 9);
  });

  it('put order is kept within one instant', async () => {
    const queue = await queues.newQueue();
    const texts = Array.from({ length: 100 }, (_, index) => String(index));
    for (const text of texts) await queues.put(queue, text);
    const seen: (string | undefined)[] = [];
    for (const numofmessages of [32, 1, 32, 3, 32]) {
      const got = await queues.get(queue, { numofmessages });
      seen.push(...got.map(({ MessageText }) => MessageText));
    }
    assert.deepEqual(seen, texts);
  });

  it('a message whose timeout has passed comes again, counted', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x', { messagettl: -1 });
    for (let delivery = 1; delivery <= 5; delivery += 1) {
      const message = await queues.getOne(queue, { visibilitytimeout: 7 });
      assert.equal(message.DequeueCount, String(delivery));
      assert.deepEqual(await queues.get(queue), []);
      wait(7);
    }
  });

  it('the count includes invisible messages and no deleted or expired ones', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'visible');
    await queues.put(queue, 'hidden', { visibilitytimeout: 60 });
    await queues.put(queue, 'short', { messagettl: 10 });
    const deleted = await queues.put(queue, 'deleted');
    assert.equal(await queues.count(queue), 4);
    await queues.get(queue);
    assert.equal(await queues.count(queue), 4);
    assert.equal((await queues.delete(queue, deleted)).status, 204);
    assert.equal(await queues.count(queue), 3);
  });
});
