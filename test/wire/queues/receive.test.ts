import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { queryOf, type QueryValues } from '../kit/queue-client.js';
import { assertInvalidParameter, assertOutOfRange } from '../kit/queue-refusals.js';
import { startQueueFixture } from '../kit/server.js';

const { queues, wait, clock } = await startQueueFixture();
const weekSeconds = 604_800;

/** The server's time plus these seconds, in the format of messages. */
function httpDate(secondsFromNow = 0): string {
  return new Date(clock.nowMicros() / 1000 + secondsFromNow * 1000).toUTCString();
}

const get = (queue: string, values: QueryValues) =>
  queues.send({ path: `/${queue}/messages${queryOf(values)}` });

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
      assertInvalidParameter(await get(queue, { numofmessages }), 'numofmessages', numofmessages);
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
    assertInvalidParameter(await get(queue, { visibilitytimeout: 'x' }), 'visibilitytimeout', 'x');
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
