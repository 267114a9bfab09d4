import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseQueuePath, type QueueResource } from './resource.js';

describe('the path of a request to queues', () => {
  const cases: readonly [path: string, resource: QueueResource][] = [
    ['/', { kind: 'service' }],
    ['/orders', { kind: 'queue', queue: 'orders' }],
    ['/messages', { kind: 'queue', queue: 'messages' }],
    ['/orders/messages', { kind: 'messages', queue: 'orders' }],
    ['/messages/messages', { kind: 'messages', queue: 'messages' }],
    ['/orders/messages/17', { kind: 'message', queue: 'orders', id: '17' }],
    ['/orders/messages/messages', { kind: 'message', queue: 'orders', id: 'messages' }],
  ];
  for (const [path, resource] of cases) {
    it(`${path} is ${resource.kind}`, () => {
      assert.deepEqual(parseQueuePath(path), resource);
    });
  }

  it('is decoded once, and only after it has been split', () => {
    assert.deepEqual(parseQueuePath('/a%2Fmessages'), { kind: 'queue', queue: 'a/messages' });
    assert.deepEqual(parseQueuePath('/%2564'), { kind: 'queue', queue: '%64' });
    assert.deepEqual(parseQueuePath('/q/messages/%61%2Db'), {
      kind: 'message',
      queue: 'q',
      id: 'a-b',
    });
  });

  for (const path of [
    '//',
    '/orders/',
    '/orders/messages/',
    '/orders/messages/17/',
    '/orders/messages/17/more',
    '/orders/Messages',
    '/orders/messagesmore',
    '/orders/other',
    '//messages',
    '/%',
    '/orders/messages/%ff',
  ]) {
    it(`${path} names no resource`, () => {
      assert.throws(
        () => parseQueuePath(path),
        (error: unknown) => error instanceof StorageError && error.code === 'InvalidUri',
      );
    });
  }
});
