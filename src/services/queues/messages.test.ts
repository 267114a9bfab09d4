import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  account,
  message,
  openQueues,
  queue,
  second,
  textsOf,
} from '../../../test/support/open-queues.js';
import { engineNames } from '../../../test/support/stores.js';
import { failsWith } from '../../../test/support/table-services.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { invariant } from '../../base/invariant.js';
import { neverMicros } from './limits.js';
import type { QueueService } from './queue-service.js';
import type { DequeuedMessage } from './types.js';

async function getOne(service: QueueService, visibilitySeconds = 30): Promise<DequeuedMessage> {
  const [first] = await service.getMessages(account, queue, { count: 1, visibilitySeconds });
  invariant(first !== undefined, 'a message is visible');
  return first;
}

async function isEmpty(service: QueueService): Promise<boolean> {
  return (await service.peekMessages(account, queue, 32)).length === 0;
}

async function count(service: QueueService): Promise<number> {
  return (await service.getQueue(account, queue)).approximateMessageCount;
}

for (const engine of engineNames) {
  describe(`messages over ${engine}`, () => {
    it('are handed out in the order in which they were put', async (t) => {
      const { service } = await openQueues(engine, t);
      const texts = Array.from({ length: 100 }, (_, index) => `message ${index}`);
      for (const text of texts) await service.putMessage(account, queue, message(text));
      const options = { count: 32, visibilitySeconds: 30 };
      const got: string[] = [];
      for (let round = 0; round < 4; round += 1) {
        got.push(...textsOf(await service.getMessages(account, queue, options)));
      }
      assert.deepEqual(got, texts);
      assert.deepEqual(await service.getMessages(account, queue, options), []);
    });

    it('are not taken when there is no memory for their texts, and wait for their turn when taken', async (t) => {
      const { service } = await openQueues(engine, t);
      for (const text of ['one', 'other']) await service.putMessage(account, queue, message(text));
      const options = { count: 2, visibilitySeconds: 30 };
      const asked: string[] = [];
      const refuse = (bytes: number): void => {
        asked.push(`hold ${bytes}`);
        throw new StorageError('ServerBusy');
      };
      const enter = (bytes: number) => void asked.push(`enter ${bytes}`);
      const full = { hold: refuse, enter };
      await assert.rejects(
        service.getMessages(account, queue, options, full),
        failsWith('ServerBusy'),
      );
      await assert.rejects(service.peekMessages(account, queue, 2, full), failsWith('ServerBusy'));
      const memory = { hold: (bytes: number) => void asked.push(`hold ${bytes}`), enter };
      assert.equal((await service.getMessages(account, queue, options, memory)).length, 2);
      assert.deepEqual(asked, ['hold 8', 'hold 8', 'hold 8', 'enter 8']);
    });

    it('are visible from the moment of their timeout on, not a microsecond before', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      await service.putMessage(account, queue, message('late', { visibilitySeconds: 10 }));
      clock.advanceMicros(10 * second - 1);
      assert.ok(await isEmpty(service));
      clock.advanceMicros(1);
      const first = await getOne(service, 5);
      assert.equal(first.dequeueCount, 1);
      assert.equal(first.nextVisibleMicros, clock.nowMicros() + 5 * second);
      clock.advanceMicros(5 * second - 1);
      assert.ok(await isEmpty(service));
      clock.advanceMicros(1);
      assert.equal((await getOne(service)).dequeueCount, 2);
    });

    it('are gone at the moment they expire, for every operation', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      const put = await service.putMessage(account, queue, message('x', { timeToLiveSeconds: 60 }));
      const held = await getOne(service, 3600);
      assert.ok(held.nextVisibleMicros > held.expiresMicros);
      clock.advanceMicros(60 * second - 1);
      assert.equal(await count(service), 1);
      const { popReceipt } = await service.updateMessage(account, queue, {
        ...held,
        visibilitySeconds: 0,
      });
      assert.ok(!(await isEmpty(service)));
      clock.advanceMicros(1);
      assert.ok(await isEmpty(service));
      const wanted = { count: 1, visibilitySeconds: 1 };
      assert.deepEqual(await service.getMessages(account, queue, wanted), []);
      assert.equal(await count(service), 0);
      const stale = { id: put.id, popReceipt };
      await assert.rejects(
        service.deleteMessage(account, queue, stale),
        failsWith('MessageNotFound'),
      );
      await assert.rejects(
        service.updateMessage(account, queue, { ...stale, visibilitySeconds: 0 }),
        failsWith('MessageNotFound'),
      );
    });

    it('can live for ever', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      const put = await service.putMessage(
        account,
        queue,
        message('x', { timeToLiveSeconds: Infinity }),
      );
      assert.equal(put.expiresMicros, neverMicros);
      assert.equal(new Date(put.expiresMicros / 1000).toISOString(), '9999-12-31T23:59:59.000Z');
      clock.advanceMicros(100 * 365 * 86_400 * second);
      await service.reclaim({ entriesMax: 10 });
      assert.equal((await getOne(service)).text, 'x');
      assert.equal((await service.getQueue(account, queue)).approximateMessageCount, 1);
    });

    it('keep their text, whatever it is', async (t) => {
      const { service } = await openQueues(engine, t);
      const texts = ['', ' ', '\r\n\t ', '<&>"\'', '界👍', 'x'.repeat(65_536)];
      for (const text of texts) await service.putMessage(account, queue, message(text));
      assert.deepEqual(textsOf(await service.peekMessages(account, queue, 32)), texts);
    });

    it('with a text that is too long are refused, as new ones and as changes', async (t) => {
      const { service } = await openQueues(engine, t);
      const tooLong = 'é'.repeat(32_769);
      await assert.rejects(
        service.putMessage(account, queue, message(tooLong)),
        failsWith('RequestBodyTooLarge'),
      );
      const { id, popReceipt } = await service.putMessage(account, queue, message('short'));
      const change = { id, popReceipt, visibilitySeconds: 0, text: tooLong };
      await assert.rejects(
        service.updateMessage(account, queue, change),
        failsWith('RequestBodyTooLarge'),
      );
      assert.deepEqual(textsOf(await service.peekMessages(account, queue, 2)), ['short']);
      await service.deleteMessage(account, queue, { id, popReceipt });
    });

    it('cannot be hidden beyond their expiry when they are put or updated', async (t) => {
      const { service } = await openQueues(engine, t);
      const hidden = message('x', { visibilitySeconds: 60, timeToLiveSeconds: 60 });
      await assert.rejects(
        service.putMessage(account, queue, hidden),
        failsWith('InvalidQueryParameterValue'),
      );
      const put = await service.putMessage(account, queue, { ...hidden, timeToLiveSeconds: 61 });
      await assert.rejects(
        service.updateMessage(account, queue, { ...put, visibilitySeconds: 62 }),
        failsWith('InvalidQueryParameterValue'),
      );
      await service.updateMessage(account, queue, { ...put, visibilitySeconds: 61 });
    });

    it('are held by the receipt of their last change only', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      const put = await service.putMessage(account, queue, message('first'));
      const got = await getOne(service, 30);
      // The same time of visibility, so that only the version distinguishes the receipts.
      const updated = await service.updateMessage(account, queue, {
        ...got,
        visibilitySeconds: 30,
        text: 'second',
      });
      assert.equal(updated.nextVisibleMicros, got.nextVisibleMicros);
      for (const { popReceipt } of [put, got]) {
        const stale = { id: put.id, popReceipt };
        await assert.rejects(
          service.deleteMessage(account, queue, stale),
          failsWith('MessageNotFound'),
        );
        await assert.rejects(
          service.updateMessage(account, queue, { ...stale, visibilitySeconds: 1 }),
          failsWith('MessageNotFound'),
        );
      }
      clock.advanceMicros(31 * second);
      const [peeked] = await service.peekMessages(account, queue, 1);
      assert.deepEqual([peeked?.text, peeked?.dequeueCount], ['second', 1]);
      // No consumer has taken it since, so the receipt is still valid.
      await service.deleteMessage(account, queue, {
        id: put.id,
        popReceipt: updated.popReceipt,
      });
      assert.equal(await count(service), 0);
    });

    it('are not reached with the receipt of another message of the same moment', async (t) => {
      const { service } = await openQueues(engine, t);
      await service.createQueue(account, 'other-tasks', []);
      await service.putMessage(account, queue, message('a'));
      await service.putMessage(account, queue, message('b'));
      const [a, b] = await service.getMessages(account, queue, { count: 2, visibilitySeconds: 9 });
      invariant(a !== undefined && b !== undefined, 'two messages are visible');
      const crossed = { id: a.id, popReceipt: b.popReceipt };
      const notFound = failsWith('MessageNotFound');
      await assert.rejects(service.deleteMessage(account, queue, crossed), notFound);
      await assert.rejects(service.deleteMessage(account, 'other-tasks', a), notFound);
      await assert.rejects(
        service.deleteMessage(account, queue, { ...a, id: 'no-guid' }),
        notFound,
      );
      await assert.rejects(
        service.deleteMessage(account, queue, { ...a, popReceipt: 'nonsense' }),
        failsWith('InvalidQueryParameterValue'),
      );
      assert.equal(await count(service), 2);
    });

    it('go on in time when the clock is set back, and are neither lost nor doubled', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      for (const text of ['held', 'waiting']) {
        await service.putMessage(account, queue, message(text));
      }
      const held = await getOne(service, 60);
      clock.advanceMicros(-86_400 * second);
      await service.putMessage(account, queue, message('put meanwhile'));
      assert.equal(await count(service), 3);
      const taken = [await getOne(service, 7200), await getOne(service, 7200)];
      assert.deepEqual(textsOf(taken), ['waiting', 'put meanwhile']);
      assert.ok(await isEmpty(service));
      clock.advanceMicros(70 * second);
      assert.equal((await getOne(service, 60)).text, 'held');
      const { id, popReceipt } = held;
      await assert.rejects(service.deleteMessage(account, queue, { id, popReceipt }));
      clock.advanceMicros(8_000 * second);
      const left = await service.peekMessages(account, queue, 32);
      assert.deepEqual(textsOf(left).sort(), ['held', 'put meanwhile', 'waiting']);
    });

    it('that are peeked at do not change', async (t) => {
      const { service } = await openQueues(engine, t);
      await service.putMessage(account, queue, message('x'));
      const before = await service.peekMessages(account, queue, 1);
      assert.deepEqual(await service.peekMessages(account, queue, 1), before);
      assert.equal(before[0]?.dequeueCount, 0);
      assert.equal((await getOne(service)).dequeueCount, 1);
    });

    it('are all counted, visible or not, and removed by clearing', async (t) => {
      const { service } = await openQueues(engine, t);
      for (let index = 0; index < 10; index += 1) {
        const visibilitySeconds = index % 2 === 0 ? 0 : 100;
        await service.putMessage(account, queue, message('x', { visibilitySeconds }));
      }
      const held = await getOne(service);
      assert.equal(await count(service), 10);
      await service.deleteMessage(account, queue, held);
      assert.equal(await count(service), 9);
      const left = await getOne(service);
      await service.clearMessages(account, queue);
      assert.equal(await count(service), 0);
      assert.ok(await isEmpty(service));
      await assert.rejects(
        service.deleteMessage(account, queue, left),
        failsWith('MessageNotFound'),
      );
      await service.putMessage(account, queue, message('new'));
      assert.equal((await getOne(service)).text, 'new');
    });
  });
}
