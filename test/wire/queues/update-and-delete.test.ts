import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { messageBody, messagePath } from '../kit/queue-client.js';
import {
  assertInvalidParameter,
  assertMissingParameter,
  assertOutOfRange,
  assertTooLarge,
} from '../kit/queue-refusals.js';
import type { QueueMessage } from '../kit/queue-xml.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

const { queues, wait, clock } = await startQueueFixture();
const weekSeconds = 604_800;
const messageNotFound = { status: 404, code: 'MessageNotFound' } as const;

/** The server's time plus these seconds, in the format of messages. */
function httpDate(secondsFromNow = 0): string {
  return new Date(clock.nowMicros() / 1000 + secondsFromNow * 1000).toUTCString();
}

function send(method: string, path: string, body?: string): Promise<WireResponse> {
  return queues.send({ method, path, ...(body === undefined ? {} : { body }) });
}

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
    assertMissingParameter(await send('PUT', `${base}?popreceipt=${receipt}`), 'visibilitytimeout');
    assertMissingParameter(await send('PUT', `${base}?visibilitytimeout=0`), 'popreceipt');
    assertMissingParameter(await send('DELETE', base), 'popreceipt');
    assert.equal((await queues.update(queue, sent)).status, 204);
  });

  it('takes 0 to 604,800 seconds, and none beyond the expiry', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x', { messagettl: 60 });
    for (const visibility of [-1, weekSeconds + 1]) {
      const response = await queues.update(queue, sent, { visibility });
      assertOutOfRange(response, 'visibilitytimeout', visibility, [0, weekSeconds]);
    }
    assertInvalidParameter(
      await queues.update(queue, sent, { visibility: 'x' }),
      'visibilitytimeout',
      'x',
    );
    assertInvalidParameter(
      await queues.update(queue, sent, { visibility: 61 }),
      'visibilitytimeout',
      61,
    );
    assert.equal((await queues.update(queue, sent, { visibility: 59 })).status, 204);
  });

  it('refuses a text that is too long and a body that is no message, and changes nothing', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x');
    const path = messagePath(queue, sent, { visibilitytimeout: 0 });
    const long = await send('PUT', path, messageBody('y'.repeat(65_537)));
    assertTooLarge(long, 65_536);
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
        assertInvalidParameter(response, 'popreceipt', receipt);
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
