import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startQueueFixture } from '../kit/server.js';

const { queues, wait, clock } = await startQueueFixture();

/** The server's time plus these seconds, in the format of messages. */
function httpDate(secondsFromNow = 0): string {
  return new Date(clock.nowMicros() / 1000 + secondsFromNow * 1000).toUTCString();
}

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
