import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { account, message, openQueues, queue, textsOf } from '../../../test/support/open-queues.js';
import { engineNames } from '../../../test/support/stores.js';
import { failsWith } from '../../../test/support/table-services.js';
import type { Metadata } from '../../model/resources/metadata.js';

const colours: Metadata = [
  ['Colour', 'blue'],
  ['size', ''],
];

for (const engine of engineNames) {
  describe(`queues over ${engine}`, () => {
    it('are made once, with the metadata of the first', async (t) => {
      const { service } = await openQueues(engine, t);
      assert.equal(await service.createQueue(account, 'painted', colours), 'created');
      const sameNames: Metadata = [
        ['SIZE', ''],
        ['colour', 'blue'],
      ];
      assert.equal(await service.createQueue(account, 'painted', sameNames), 'existed');
      const exists = failsWith('QueueAlreadyExists');
      await assert.rejects(service.createQueue(account, 'painted', []), exists);
      await assert.rejects(service.createQueue(account, queue, colours), exists);
      await assert.rejects(
        service.createQueue(account, 'painted', [['colour', 'Blue'], colours[1] ?? ['', '']]),
        exists,
      );
      assert.deepEqual((await service.getQueue(account, 'painted')).metadata, colours);
    });

    it('have names of 3 to 63 lower-case letters, digits and single dashes', async (t) => {
      const { service } = await openQueues(engine, t);
      for (const name of ['abc', '0-0', 'a'.repeat(63), 'a-b-c-1']) {
        assert.equal(await service.createQueue(account, name, []), 'created');
      }
      for (const name of ['ab', '', 'a'.repeat(64)]) {
        const wrong = failsWith('OutOfRangeInput');
        await assert.rejects(service.createQueue(account, name, []), wrong);
        await assert.rejects(service.getQueue(account, name), wrong);
      }
      for (const name of ['Abc', 'a_b', 'a--b', '-ab', 'ab-', 'a b', 'äbc']) {
        const wrong = failsWith('InvalidResourceName');
        await assert.rejects(service.createQueue(account, name, []), wrong);
        await assert.rejects(service.putMessage(account, name, message('x')), wrong);
      }
    });

    it('that are not there answer so to every operation', async (t) => {
      const { service } = await openQueues(engine, t);
      const missing = 'no-such-queue';
      const held = { id: 'x', popReceipt: 'A'.repeat(44) };
      const attempts = [
        () => service.deleteQueue(account, missing),
        () => service.getQueue(account, missing),
        () => service.setMetadata(account, missing, []),
        () => service.getSignedIdentifiers(account, missing),
        () => service.setSignedIdentifiers(account, missing, []),
        () => service.putMessage(account, missing, message('x')),
        () => service.getMessages(account, missing, { count: 1, visibilitySeconds: 1 }),
        () => service.peekMessages(account, missing, 1),
        () => service.updateMessage(account, missing, { ...held, visibilitySeconds: 1 }),
        () => service.deleteMessage(account, missing, held),
        () => service.clearMessages(account, missing),
      ];
      for (const attempt of attempts) {
        await assert.rejects(attempt(), failsWith('QueueNotFound'), attempt.toString());
      }
    });

    it('belong to their account', async (t) => {
      const { service } = await openQueues(engine, t);
      await service.createQueue('other', queue, []);
      await service.putMessage(account, queue, message('mine'));
      assert.deepEqual(await service.peekMessages('other', queue, 1), []);
      await service.deleteQueue('other', queue);
      assert.deepEqual(textsOf(await service.peekMessages(account, queue, 1)), ['mine']);
    });

    it('are empty when they are created again at once', async (t) => {
      const { service } = await openQueues(engine, t);
      for (let round = 0; round < 3; round += 1) {
        await service.putMessage(account, queue, message('x'));
        await service.deleteQueue(account, queue);
        await service.createQueue(account, queue, []);
        assert.deepEqual(await service.peekMessages(account, queue, 1), []);
        assert.equal((await service.getQueue(account, queue)).approximateMessageCount, 0);
      }
    });

    it('are listed in order of their names, in pages', async (t) => {
      const { service } = await openQueues(engine, t);
      const names = ['a-1', 'a-2', 'a1', 'ab', 'b12'].filter((name) => name.length >= 3);
      for (const name of names) await service.createQueue(account, name, colours);
      const all = [...names, queue].sort();
      const found: string[] = [];
      let from: string | undefined;
      do {
        const page = await service.listQueues(account, {
          limit: 2,
          ...(from === undefined ? {} : { from }),
        });
        assert.ok(page.queues.length <= 2);
        for (const { name } of page.queues) found.push(name);
        from = page.next;
      } while (from !== undefined);
      assert.deepEqual(found, all);
      const { queues, next } = await service.listQueues(account, { prefix: 'a-', limit: 5 });
      assert.deepEqual(Array.from(queues), [
        { name: 'a-1', metadata: colours },
        { name: 'a-2', metadata: colours },
      ]);
      assert.equal(next, undefined);
    });

    it('keep metadata and signed identifiers, whatever becomes of their messages', async (t) => {
      const { service } = await openQueues(engine, t);
      const identifiers = [
        { id: 'full', start: '2026-01-01T00:00:00.0000000Z', expiry: '', permission: 'raup' },
        { id: 'bare' },
      ];
      await service.setSignedIdentifiers(account, queue, identifiers);
      await service.setMetadata(account, queue, colours);
      await service.putMessage(account, queue, message('x'));
      await service.clearMessages(account, queue);
      assert.deepEqual(await service.getSignedIdentifiers(account, queue), identifiers);
      assert.deepEqual((await service.getQueue(account, queue)).metadata, colours);
      await service.setMetadata(account, queue, []);
      assert.deepEqual((await service.getQueue(account, queue)).metadata, []);
      await service.setSignedIdentifiers(account, queue, []);
      assert.deepEqual(await service.getSignedIdentifiers(account, queue), []);
    });
  });
}
