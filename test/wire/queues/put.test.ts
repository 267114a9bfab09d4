import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { messageBody, queryOf, type QueryValues } from '../kit/queue-client.js';
import { assertInvalidParameter, assertOutOfRange, assertTooLarge } from '../kit/queue-refusals.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

const { queues, clock } = await startQueueFixture();
const weekSeconds = 604_800;
const never = 'Fri, 31 Dec 9999 23:59:59 GMT';

/** The server's time plus these seconds, in the format of messages. */
function httpDate(secondsFromNow = 0): string {
  return new Date(clock.nowMicros() / 1000 + secondsFromNow * 1000).toUTCString();
}

function send(method: string, path: string, body?: string): Promise<WireResponse> {
  return queues.send({ method, path, ...(body === undefined ? {} : { body }) });
}

const put = (queue: string, values: QueryValues) =>
  send('POST', `/${queue}/messages${queryOf(values)}`, messageBody('x'));

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
      assertInvalidParameter(
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
      [weekSeconds, undefined],
    ]) {
      const response = await put(queue, { visibilitytimeout, messagettl });
      assertInvalidParameter(response, 'visibilitytimeout', visibilitytimeout ?? '');
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
      assertInvalidParameter(await put(queue, { messagettl }), 'messagettl', messagettl);
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
    ['a raw one', '<QueueMessage><MessageText>\u0001</MessageText></QueueMessage>'],
    ['an empty root', '<QueueMessage />'],
    ['another element', '<QueueMessage><Text>x</Text></QueueMessage>'],
    ['elements that cross', '<QueueMessage><MessageText>x</QueueMessage>'],
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
      assertTooLarge(response, 65_536);
    }
    // The limit applies to the text, not to its escaped form.
    await queues.put(queue, '<'.repeat(30_000));
    assert.equal(await queues.count(queue), 5);
  });

  it('answers 413 with the limit of bodies for a body of more than 131,584 bytes', async () => {
    const queue = await queues.newQueue();
    const around = Buffer.byteLength(messageBody(''));
    const ofBytes = (bytes: number) => `${messageBody('x')}${' '.repeat(bytes - around - 1)}`;
    assert.equal((await send('POST', `/${queue}/messages`, ofBytes(131_584))).status, 201);
    const response = await send('POST', `/${queue}/messages`, ofBytes(131_585));
    assertTooLarge(response, 131_584);
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
