import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { startQueueFixture } from '../kit/server.js';

// What users of Azurite have reported about queues.

const { queues, wait } = await startQueueFixture();
const messageNotFound = { status: 404, code: 'MessageNotFound' } as const;

describe('what users reported about queues', () => {
  it('Azurite#2343: a message hides, reappears, counts up, and its old receipt is stale', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'leased');
    const first = await queues.getOne(queue, { visibilitytimeout: 2 });
    assert.equal(first.DequeueCount, '1');
    assert.deepEqual(await queues.get(queue), [], 'hidden');
    wait(2);
    const second = await queues.getOne(queue, { visibilitytimeout: 2 });
    assert.equal(second.MessageId, first.MessageId);
    assert.equal(second.DequeueCount, '2');
    const update = await queues.update(queue, first, { visibility: 5, text: 'by the first' });
    assertQueueError(update, messageNotFound);
    assertQueueError(await queues.delete(queue, first), messageNotFound);
    assert.equal((await queues.delete(queue, second)).status, 204);
    assert.equal(await queues.count(queue), 0);
  });

  for (const value of ['0', '691200']) {
    it(`Azurite#2083: a get with visibilitytimeout=${value} is 400 with its code and headers`, async () => {
      const queue = await queues.newQueue();
      await queues.put(queue, 'x');
      const response = await queues.send({
        path: `/${queue}/messages?visibilitytimeout=${value}`,
      });
      assertQueueError(response, {
        status: 400,
        code: 'OutOfRangeQueryParameterValue',
        details: [
          ['QueryParameterName', 'visibilitytimeout'],
          ['QueryParameterValue', value],
          ['MinimumAllowed', '1'],
          ['MaximumAllowed', '604800'],
        ],
      });
      for (const name of ['x-ms-error-code', 'x-ms-request-id', 'x-ms-version', 'date']) {
        assert.notEqual(response.header(name), undefined, name);
      }
      assert.equal((await queues.getOne(queue)).DequeueCount, '1');
    });
  }

  it('azure-webjobs-sdk: a message that fails five times goes to the poison queue', async () => {
    const work = await queues.newQueue('work');
    const poison = await queues.newQueue('work-poison');
    await queues.put(work, 'always fails');
    for (let round = 0; round < 10; round += 1) {
      for (const message of await queues.get(work, { visibilitytimeout: 600 })) {
        if (Number(message.DequeueCount) < 5) {
          // A failed attempt gives the message back at once.
          assert.equal((await queues.update(work, message, { visibility: 0 })).status, 204);
        } else {
          await queues.put(poison, message.MessageText ?? '');
          assert.equal((await queues.delete(work, message)).status, 204);
        }
      }
    }
    assert.equal(await queues.count(work), 0);
    assert.deepEqual(await queues.texts(poison), ['always fails']);
  });

  it('azure-webjobs-sdk: a lease that is renewed in time is never lost', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'long work', { messagettl: -1 });
    const first = await queues.getOne(queue, { visibilitytimeout: 600 });
    const { MessageId = '' } = first;
    let { PopReceipt = '' } = first;
    for (let minutes = 0; minutes < 60; minutes += 5) {
      wait(300);
      const held = { MessageId, PopReceipt };
      const renewed = await queues.update(queue, held, { visibility: 600 });
      assert.equal(renewed.status, 204);
      PopReceipt = renewed.header('x-ms-popreceipt') ?? '';
      assert.deepEqual(await queues.get(queue), []);
    }
    assert.equal((await queues.delete(queue, { MessageId, PopReceipt })).status, 204);
  });

  it('Azurite#2065: an access policy without Start is taken', async () => {
    const queue = await queues.newQueue();
    const body =
      '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy>' +
      '<Expiry>2030-01-01T00:00:00Z</Expiry><Permission>r</Permission>' +
      '</AccessPolicy></SignedIdentifier></SignedIdentifiers>';
    await queues.expect(204, { method: 'PUT', path: `/${queue}?comp=acl`, body });
    const { text } = await queues.expect(200, { path: `/${queue}?comp=acl` });
    assert.match(text, /<Expiry>2030-01-01T00:00:00\.0000000Z<\/Expiry><Permission>r</);
    assert.doesNotMatch(text, /Start/);
  });
});
