import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { queueKinds, queuePlan } from './kinds.js';
import { heldIn, makeQueueWorkload, messageText } from './queue-workloads.js';

const target = {
  host: '127.0.0.1',
  port: 1,
  account: { name: 'a', key: createSecretKey(Buffer.from('k')) },
};

function message(id: string, text = messageText): string {
  return (
    `<QueueMessage><MessageId>${id}</MessageId><PopReceipt>r+${id}=</PopReceipt>` +
    `<MessageText>${text}</MessageText></QueueMessage>`
  );
}

function answer(...messages: readonly string[]): Buffer[] {
  const xml = Buffer.from(`<QueueMessagesList>${messages.join('')}</QueueMessagesList>`);
  return [xml.subarray(0, 40), xml.subarray(40)];
}

function shownBy(request: Buffer | undefined): string {
  return request?.toString().split(' HTTP/1.1')[0] ?? 'nothing';
}

describe('the load of queues', () => {
  it('finds every message of an answer', () => {
    assert.deepEqual(heldIn(answer(message('one'), message('two'))), [
      { id: 'one', popReceipt: 'r+one=' },
      { id: 'two', popReceipt: 'r+two=' },
    ]);
    assert.deepEqual(heldIn([Buffer.from('<QueueMessagesList />')]), []);
  });

  it('fails on a text that is not the one that was put', () => {
    assert.throws(() => heldIn(answer(message('one', 'short'))), /a text of 5 characters/);
  });

  it('deletes each message that it got, and counts those', () => {
    const workload = makeQueueWorkload('queue-get-delete', target);
    assert.ok('answered' in workload);
    const get = 'GET /a/bench/messages?numofmessages=32&timeout=30&visibilitytimeout=300';
    assert.equal(shownBy(workload.next(0)), get);
    assert.equal(workload.answered(0, 200, answer(message('one'), message('two')), 0), 0);
    assert.equal(
      shownBy(workload.next(0)),
      'DELETE /a/bench/messages/two?popreceipt=r%2Btwo%3D&timeout=30',
    );
    assert.equal(workload.answered(0, 204, [], 0), 1);
    assert.match(shownBy(workload.next(0)), /^DELETE .*\/one\?/);
    assert.throws(() => workload.answered(0, 404, [], 0), /Expected status 204, got 404/);
    assert.equal(shownBy(workload.next(1)), get);
  });

  it('has a plan for every kind', () => {
    assert.deepEqual(
      queueKinds.map((kind) => Object.values(queuePlan(kind)).join(' ')),
      [
        'put 0 bench-put',
        'get-delete 0 bench',
        'get-delete-one 0 bench',
        'put 100000 bench-100k',
        'get-delete 100000 bench-100k',
        'get-delete-one 100000 bench-100k',
        'put 1000000 bench-1m',
        'get-delete 1000000 bench-1m',
        'get-delete-one 1000000 bench-1m',
      ],
    );
  });
});
