import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, eventually, freshQueue } from './server.js';

async function take(queue, visibilityTimeout = 60, numberOfMessages = 1) {
  const options = { visibilityTimeout, numberOfMessages };
  return (await queue.receiveMessages(options)).receivedMessageItems;
}

async function peekTexts(queue) {
  const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
  return peekedMessageItems.map(({ messageText }) => messageText);
}

describe('a message', () => {
  it('tells its times when it is sent', async () => {
    const queue = await freshQueue();
    const sent = await queue.sendMessage('text');
    assert.ok(Math.abs(sent.insertedOn - Date.now()) < 60_000);
    assert.equal(sent.expiresOn - sent.insertedOn, 7 * 24 * 3_600_000);
    assert.deepEqual(sent.nextVisibleOn, sent.insertedOn);
    await queue.deleteMessage(sent.messageId, sent.popReceipt);
    assert.deepEqual(await peekTexts(queue), []);
  });

  it('is taken, updated and deleted', async () => {
    const queue = await freshQueue();
    await queue.sendMessage('first');
    const [{ messageId, popReceipt, messageText, dequeueCount }] = await take(queue);
    assert.deepEqual([messageText, dequeueCount], ['first', 1]);
    assert.deepEqual(await peekTexts(queue), []);
    const updated = await queue.updateMessage(messageId, popReceipt, 'second', 0);
    assert.deepEqual(await peekTexts(queue), ['second']);
    const stale = queue.deleteMessage(messageId, popReceipt);
    await assertRefused(stale, 404, 'MessageNotFound');
    const again = queue.updateMessage(messageId, popReceipt, 'third', 0);
    await assertRefused(again, 404, 'MessageNotFound');
    await queue.deleteMessage(messageId, updated.popReceipt);
    assert.deepEqual(await take(queue), []);
  });

  it('is not deleted with a receipt that is none', async () => {
    const queue = await freshQueue();
    const { messageId } = await queue.sendMessage('text');
    const deletion = queue.deleteMessage(messageId, 'wrong');
    await assertRefused(deletion, 400, 'InvalidQueryParameterValue');
  });

  it('is peeked without counting', async () => {
    const queue = await freshQueue();
    await queue.sendMessage('seen');
    for (let time = 0; time < 3; time += 1) {
      const [{ dequeueCount }] = (await queue.peekMessages()).peekedMessageItems;
      assert.equal(dequeueCount, 0);
    }
  });

  it('comes in its order, with up to 31 others at once, until the queue is cleared', async () => {
    const queue = await freshQueue();
    const texts = Array.from({ length: 40 }, (_, number) => String(number));
    for (const text of texts) await queue.sendMessage(text);
    const first = await take(queue, 3600, 32);
    assert.equal(first.length, 32);
    const found = [...first, ...(await take(queue, 3600, 32))];
    assert.deepEqual(
      found.map(({ messageText }) => messageText),
      texts,
    );
    assert.equal((await queue.getProperties()).approximateMessagesCount, 40);
    await queue.clearMessages();
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  });

  it('appears late when told to, and expires', async () => {
    const queue = await freshQueue();
    await queue.sendMessage('late', { visibilityTimeout: 2 });
    await queue.sendMessage('short', { messageTimeToLive: 1 });
    const { expiresOn } = await queue.sendMessage('ever', { messageTimeToLive: -1 });
    assert.equal(expiresOn.getUTCFullYear(), 9999);
    assert.deepEqual(await peekTexts(queue), ['short', 'ever']);
    await eventually('the late message did not appear, or the short one stayed', async () => {
      return (await peekTexts(queue)).join() === 'ever,late';
    });
  });

  it('comes again after its timeout', async () => {
    const queue = await freshQueue();
    await queue.sendMessage('again');
    const [first] = await take(queue, 1);
    let second;
    await eventually('the message did not come again', async () => {
      [second] = await take(queue);
      return second !== undefined;
    });
    assert.equal(second.messageId, first.messageId);
    assert.equal(second.dequeueCount, 2);
    const stale = queue.deleteMessage(first.messageId, first.popReceipt);
    await assertRefused(stale, 404, 'MessageNotFound');
  });

  it('keeps its text', async () => {
    const queue = await freshQueue();
    for (const text of [
      '',
      ' ',
      '  x  ',
      "<a b='c'>&amp;</a>",
      ']]>',
      'příliš 😀',
      // This client leaves out the line feeds of what it sends.
      'a\tb',
      '100% + 1',
      Buffer.from([...Array(256).keys()]).toString('base64'),
      'x'.repeat(65536),
      '😀'.repeat(16384),
    ]) {
      await queue.sendMessage(text);
      const [{ messageId, popReceipt, messageText }] = await take(queue);
      assert.equal(messageText, text);
      await queue.deleteMessage(messageId, popReceipt);
    }
  });

  it('has limits', async () => {
    const queue = await freshQueue();
    await assertRefused(queue.sendMessage('x'.repeat(65537)), 413, 'RequestBodyTooLarge');
    const many = queue.peekMessages({ numberOfMessages: 33 });
    await assertRefused(many, 400, 'OutOfRangeQueryParameterValue');
    await assertRefused(take(queue, 604801), 400, 'OutOfRangeQueryParameterValue');
  });
});
