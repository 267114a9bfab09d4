import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SendingQueue } from './queue-port.js';
import { sendMessage } from './send.js';
import { spreadQueueOf } from './spread-queue.js';
import { defineMessage } from './message-type.js';
import { systemRandomness } from '../../base/randomness.js';

interface Recorded extends SendingQueue {
  readonly texts: string[];
}

function queueOf(name: string, refusal?: () => Error | undefined): Recorded {
  const texts: string[] = [];
  return {
    name,
    texts,
    sendMessage: (text) => {
      const error = refusal?.();
      if (error !== undefined) return Promise.reject(error);
      texts.push(text);
      return Promise.resolve({ messageId: `${name} ${texts.length}`, popReceipt: 'r' });
    },
  };
}

const refusal = (statusCode: number) => Object.assign(new Error('refused'), { statusCode });
const randomness = { ...systemRandomness, bytes: (count: number) => new Uint8Array(count).fill(1) };

describe('a spread queue', () => {
  it('sends to its queues in turn, beginning anywhere', async () => {
    const queues = ['a', 'b', 'c'].map((name) => queueOf(name));
    const spread = spreadQueueOf(queues, { randomness });
    assert.equal(spread.name, 'a, b, c');
    const sent = [];
    for (let count = 0; count < 5; count += 1) sent.push(await spread.sendMessage(`${count}`));
    assert.deepEqual(
      sent.map(({ messageId }) => messageId),
      ['b 1', 'c 1', 'a 1', 'b 2', 'c 2'],
    );
  });

  it('goes to the next queue when one is busy, once to each', async () => {
    let asked = 0;
    const busy = queueOf('busy', () => {
      asked += 1;
      return refusal(503);
    });
    const well = queueOf('well');
    const spread = spreadQueueOf([busy, well], { randomness });
    for (const text of ['0', '1', '2', '3']) await spread.sendMessage(text);
    assert.deepEqual([well.texts, asked], [['0', '1', '2', '3'], 2]);
    const all = spreadQueueOf([busy, busy], { randomness });
    asked = 0;
    await assert.rejects(all.sendMessage('x'), { statusCode: 503 });
    assert.equal(asked, 2);
  });

  it('tells what waiting does not mend, such as a queue that is not there', async () => {
    const missing = queueOf('missing', () => refusal(404));
    const well = queueOf('well');
    const spread = spreadQueueOf([well, missing], { randomness });
    await assert.rejects(spread.sendMessage('x'), { statusCode: 404 });
    assert.deepEqual(well.texts, []);
    assert.throws(() => spreadQueueOf([]), { name: 'DefinitionError' });
  });

  it('is a queue for whatever sends messages', async () => {
    const queues = [queueOf('a'), queueOf('b')];
    const message = defineMessage('greet', {
      payload: { encode: (to: string) => to, decode: String },
    });
    const spread = spreadQueueOf(queues);
    await sendMessage(spread, message, 'Jo');
    await sendMessage(spread, message, 'Al');
    assert.deepEqual(
      queues.map(({ texts }) => texts.length),
      [1, 1],
    );
  });
});
