import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient, type QueueClient } from '@azure/storage-queue';
import { manualClock } from '../../../src/base/clock.js';
import { openTable, type TableGateway, type TableOptions } from '../../../src/modeling/index.js';
import { decodeEnvelope, type Envelope } from '../../../src/modeling/worker/envelope.js';
import type { QueueSource } from '../../../src/modeling/worker/deliverer.js';
import { startFixture } from '../../wire/kit/server.js';
import { manualTime, type ManualTime } from './manual-timers.js';

/** A server with tables and queues that uses the clock of its test. */
export interface QueueWorld {
  readonly time: ManualTime;
  newQueue(): Promise<QueueClient>;
  /** A queue and its poison queue. */
  newSource(): Promise<QueueSource & { readonly queue: QueueClient; readonly poison: QueueClient }>;
  newTable(options?: TableOptions): Promise<TableGateway>;
}

/** For the tests of one file; the server is closed after the last of them. */
export async function startQueueWorld(): Promise<QueueWorld> {
  const clock = manualClock(Date.now() * 1000);
  const { server } = await startFixture({ clock, checkClockSkew: false });
  const connection = server.connectionString();
  const queues = QueueServiceClient.fromConnectionString(connection, {
    retryOptions: { maxTries: 1 },
  });
  let count = 0;
  const newQueue = async () => {
    count += 1;
    const client = queues.getQueueClient(`queue-${count}`);
    await client.create();
    return client;
  };
  return {
    time: manualTime(clock),
    newQueue,
    newSource: async () => ({ queue: await newQueue(), poison: await newQueue() }),
    newTable: async (options) => {
      count += 1;
      const client = TableClient.fromConnectionString(connection, `table${count}`, {
        allowInsecureConnection: true,
        retryOptions: { maxRetries: 0 },
      });
      await client.createTable();
      return openTable(client, options);
    },
  };
}

/** Texts of the visible messages, oldest first, without receiving them. */
export async function visibleTexts(queue: QueueClient): Promise<string[]> {
  const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
  return peekedMessageItems.map(({ messageText }) => messageText);
}

export async function visibleEnvelopes(queue: QueueClient): Promise<Envelope[]> {
  return (await visibleTexts(queue)).map((text) => {
    const decoded = decodeEnvelope(text);
    return decoded.kind === 'envelope' ? decoded.envelope : assert.fail(`malformed: ${text}`);
  });
}

/** The number of messages in the queue, including hidden ones. */
export async function messageCount(queue: QueueClient): Promise<number> {
  return (await queue.getProperties()).approximateMessagesCount ?? 0;
}

/** Polls a condition until it holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 2000; attempt += 1) {
    if (await condition()) return;
    await delay(5);
  }
  assert.fail('what was waited for did not come about');
}
