import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueueServiceClient, type QueueClient } from '@azure/storage-queue';
import { manualClock } from '../../../src/app/index.js';
import { answerOf, statusOf } from '../kit/sdk.js';
import { startFixture } from '../kit/server.js';
import { costly } from '../../support/run-length.js';

// Messages with the official Node client. The test sets the time of the server.

const clock = manualClock(Date.now() * 1000);
const { server } = await startFixture({ clock, checkClockSkew: false });
const options = { retryOptions: { maxTries: 1 } };
const service = QueueServiceClient.fromConnectionString(server.connectionString(), options);
const weekSeconds = 604_800;
let queueCount = 0;

async function newQueue(): Promise<QueueClient> {
  queueCount += 1;
  const client = service.getQueueClient(`messages-${queueCount}`);
  await client.create();
  return client;
}

function wait(seconds: number): void {
  clock.advanceMicros(seconds * 1_000_000);
}

/** The time of the server as in responses: truncated to seconds. */
function nowSeconds(): number {
  return Math.floor(clock.nowMicros() / 1_000_000);
}

function secondsOf(date: Date): number {
  return date.getTime() / 1000;
}

async function receive(client: QueueClient, visibilityTimeout?: number) {
  const limits = { numberOfMessages: 32, ...(visibilityTimeout && { visibilityTimeout }) };
  return (await client.receiveMessages(limits)).receivedMessageItems;
}

async function receiveOne(client: QueueClient, visibilityTimeout?: number) {
  const [message, ...others] = await receive(client, visibilityTimeout);
  assert.ok(message !== undefined && others.length === 0, 'one message');
  return message;
}

async function peekTexts(client: QueueClient): Promise<string[]> {
  const { peekedMessageItems } = await client.peekMessages({ numberOfMessages: 32 });
  return peekedMessageItems.map(({ messageText }) => messageText);
}

describe('@azure/storage-queue: sendMessage', () => {
  it('answers with all that is known of the message', async () => {
    const client = await newQueue();
    const sent = await client.sendMessage('text');
    assert.equal(statusOf(sent), 201);
    assert.match(sent.messageId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.equal(secondsOf(sent.insertedOn), nowSeconds());
    assert.equal(secondsOf(sent.expiresOn), nowSeconds() + weekSeconds);
    assert.equal(secondsOf(sent.nextVisibleOn), nowSeconds());
    const received = await receiveOne(client);
    assert.equal(received.messageId, sent.messageId);
    assert.deepEqual(received.insertedOn, sent.insertedOn);
    assert.deepEqual(received.expiresOn, sent.expiresOn);
  });

  it('sends visibility timeout and time to live', async () => {
    const client = await newQueue();
    const sent = await client.sendMessage('x', { visibilityTimeout: 59, messageTimeToLive: 60 });
    assert.equal(secondsOf(sent.nextVisibleOn), nowSeconds() + 59);
    assert.equal(secondsOf(sent.expiresOn), nowSeconds() + 60);
    const ever = await client.sendMessage('ever', { messageTimeToLive: -1 });
    assert.deepEqual(ever.expiresOn, new Date('9999-12-31T23:59:59Z'));
    const never = client.sendMessage('x', { visibilityTimeout: 60, messageTimeToLive: 60 });
    assert.equal(await answerOf(never), '400 InvalidQueryParameterValue');
    const late = client.sendMessage('x', { visibilityTimeout: weekSeconds + 1 });
    assert.equal(await answerOf(late), '400 OutOfRangeQueryParameterValue');
    assert.deepEqual(await peekTexts(client), ['ever']);
  });
});

describe('@azure/storage-queue: receiveMessages', () => {
  it('counts deliveries and renews the receipt each time', async () => {
    const client = await newQueue();
    const sent = await client.sendMessage('x');
    const receipts = [sent.popReceipt];
    for (const delivery of [1, 2, 3]) {
      const message = await receiveOne(client, 10);
      assert.equal(message.dequeueCount, delivery);
      assert.equal(secondsOf(message.nextVisibleOn), nowSeconds() + 10);
      receipts.push(message.popReceipt);
      wait(10);
    }
    assert.equal(new Set(receipts).size, 4);
  });

  it('takes 32 messages at once and not 33 or 0', async () => {
    const client = await newQueue();
    for (let index = 0; index < 40; index += 1) await client.sendMessage(String(index));
    const get = (numberOfMessages: number) => client.receiveMessages({ numberOfMessages });
    assert.equal(await answerOf(get(33)), '400 OutOfRangeQueryParameterValue');
    assert.equal(await answerOf(get(0)), '400 OutOfRangeQueryParameterValue');
    const first = (await get(32)).receivedMessageItems.map(({ messageText }) => messageText);
    assert.deepEqual(
      first,
      Array.from({ length: 32 }, (_, index) => String(index)),
    );
    assert.equal((await get(32)).receivedMessageItems.length, 8);
    assert.equal((await get(32)).receivedMessageItems.length, 0);
  });
});

describe('@azure/storage-queue: peekMessages', () => {
  it('shows what is visible and changes nothing', async () => {
    const client = await newQueue();
    const sent = await client.sendMessage('seen');
    for (let count = 0; count < 3; count += 1) {
      const { peekedMessageItems } = await client.peekMessages();
      assert.deepEqual(peekedMessageItems, [
        {
          messageId: sent.messageId,
          insertedOn: sent.insertedOn,
          expiresOn: sent.expiresOn,
          dequeueCount: 0,
          messageText: 'seen',
        },
      ]);
    }
    assert.equal((await receiveOne(client)).dequeueCount, 1);
    assert.deepEqual(await peekTexts(client), []);
  });
});

describe('@azure/storage-queue: updateMessage', () => {
  it('changes text, receipt and time, and nothing else', async () => {
    const client = await newQueue();
    await client.sendMessage('before');
    const received = await receiveOne(client);
    const updated = await client.updateMessage(
      received.messageId,
      received.popReceipt,
      'after',
      60,
    );
    assert.equal(statusOf(updated), 204);
    assert.equal(secondsOf(updated.nextVisibleOn ?? new Date(0)), nowSeconds() + 60);
    assert.notEqual(updated.popReceipt, received.popReceipt);
    assert.deepEqual(await peekTexts(client), []);
    wait(60);
    const again = await receiveOne(client);
    assert.equal(again.messageText, 'after');
    assert.equal(again.messageId, received.messageId);
    assert.deepEqual(again.insertedOn, received.insertedOn);
    assert.deepEqual(again.expiresOn, received.expiresOn);
    assert.equal(again.dequeueCount, 2);
  });

  it('extends a lease step by step', async () => {
    const client = await newQueue();
    await client.sendMessage('long work');
    const { messageId, popReceipt } = await receiveOne(client, 10);
    let receipt = popReceipt;
    for (let step = 0; step < 5; step += 1) {
      wait(9);
      const renewed = await client.updateMessage(messageId, receipt, undefined, 10);
      receipt = renewed.popReceipt ?? '';
      assert.deepEqual(await receive(client), []);
    }
    await client.deleteMessage(messageId, receipt);
    wait(100);
    assert.deepEqual(await receive(client), []);
  });
});

describe('@azure/storage-queue: deleteMessage and clearMessages', () => {
  it('refuses a second deletion, an unknown message and a receipt of another message', async () => {
    const client = await newQueue();
    const [one, two] = [await client.sendMessage('1'), await client.sendMessage('2')];
    await client.deleteMessage(one.messageId, one.popReceipt);
    const remove = (id: string, receipt: string) => answerOf(client.deleteMessage(id, receipt));
    const notFound = '404 MessageNotFound';
    assert.equal(await remove(one.messageId, one.popReceipt), notFound);
    assert.equal(await remove(two.messageId, one.popReceipt), notFound);
    assert.equal(await remove('5974b586-0df3-4e2d-ad0c-18e3892bfca2', two.popReceipt), notFound);
    assert.equal(await remove(two.messageId, 'what is this'), '400 InvalidQueryParameterValue');
    assert.deepEqual(await peekTexts(client), ['2']);
  });

  it('clears visible and invisible messages and leaves the queue', async () => {
    const client = await newQueue();
    for (let index = 0; index < 20; index += 1) await client.sendMessage(String(index));
    await client.receiveMessages({ numberOfMessages: 10 });
    await client.sendMessage('hidden', { visibilityTimeout: 100 });
    assert.equal(statusOf(await client.clearMessages()), 204);
    assert.equal((await client.getProperties()).approximateMessagesCount, 0);
    wait(1000);
    assert.deepEqual(await peekTexts(client), []);
    await client.sendMessage('new');
    assert.deepEqual(await peekTexts(client), ['new']);
  });
});

describe('@azure/storage-queue: texts', () => {
  const texts: readonly (readonly [name: string, text: string])[] = [
    ['nothing', ''],
    ['one letter', 'x'],
    ['other scripts', 'příliš žluťoučký кот 日本語 עברית'],
    ['emoji and joiners', '😀 👩‍👩‍👧‍👦 🏳️‍🌈 \u{10ffff}'],
    ['XML specials', `<a b="c" d='e'>&amp;&lt;]]></a><!-- x --><?y?>`],
    ['a CDATA section', '<![CDATA[<x>]]>'],
    ['leading and trailing blanks', '  two blanks  '],
    ['only blanks', '   '],
    ['tabs', '\t\ta \tb\t'],
    ['a byte order mark', '\uFEFFtext\uFEFF'],
    ['line separators', 'a\u0085b\u2028c\u2029d\u00a0e'],
    ['percent signs and pluses', '100% a+b %20 %ZZ'],
    ['JSON', '{"a":[1,2.50,"\\u0041"],"b":null}'],
    ['base64', Buffer.from('any bytes: \u0000\u00ff').toString('base64')],
    ['numbers that parsers like', '007'],
    ['a number in scientific form', '1e3'],
    ['true', 'true'],
  ];
  for (const [name, text] of texts) {
    it(`keep ${name} through put, peek, get and update`, async () => {
      const client = await newQueue();
      await client.sendMessage(text);
      assert.deepEqual(await peekTexts(client), [text]);
      const message = await receiveOne(client);
      assert.equal(message.messageText, text);
      await client.updateMessage(message.messageId, message.popReceipt, `${text}!`, 0);
      assert.deepEqual(await peekTexts(client), [`${text}!`]);
    });
  }

  it('with line breaks keep what the client leaves of them: it drops every line feed', async () => {
    const client = await newQueue();
    await client.sendMessage('a\nb\n\nc');
    assert.deepEqual(await peekTexts(client), ['abc']);
    const encoded = Buffer.from('a\nb\r\nc').toString('base64');
    await client.clearMessages();
    await client.sendMessage(encoded);
    assert.deepEqual(await peekTexts(client), [encoded]);
  });

  it('with characters that XML cannot say are refused and nothing is put', async () => {
    const client = await newQueue();
    for (const text of ['a\u0000b', '\u0008', 'x\uFFFE']) {
      assert.equal(await answerOf(client.sendMessage(text)), '400 InvalidXmlDocument');
    }
    assert.deepEqual(await peekTexts(client), []);
  });

  it('of 32 full messages come in one answer', costly(), async () => {
    const client = await newQueue();
    const full = '&'.repeat(5000) + 'é'.repeat(25_000);
    for (let index = 0; index < 32; index += 1) await client.sendMessage(`${index}${full}`);
    const received = await receive(client);
    assert.deepEqual(
      received.map(({ messageText }) => messageText),
      Array.from({ length: 32 }, (_, index) => `${index}${full}`),
    );
  });
});
