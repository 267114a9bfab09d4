import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { createServerOver } from 'tabularium';
import { openCassandraStore } from './index.js';
import { cluster, newStoreName } from './test-stores.js';

const insecure = { allowInsecureConnection: true };

void describe('servers over a cluster', () => {
  void it(
    'serve tables, queues and blobs, and show each other tables',
    { timeout: 300_000 },
    async () => {
      const store = newStoreName();
      const open = async () =>
        createServerOver(await openCassandraStore({ ...cluster, store }), { inMemory: true });
      await using one = await open();
      await using two = await open();
      const first = TableClient.fromConnectionString(one.connectionString(), 'shown', insecure);
      const second = TableClient.fromConnectionString(two.connectionString(), 'shown', insecure);
      await first.createTable();
      await first.createEntity({ partitionKey: 'p', rowKey: '1', count: 1 });
      await second.submitTransaction([
        ['update', { partitionKey: 'p', rowKey: '1', count: 2 }],
        ['create', { partitionKey: 'p', rowKey: '2', count: 3 }],
      ]);
      await second.createEntity({ partitionKey: 'q', rowKey: '1', count: 4 });
      const counts: unknown[] = [];
      for await (const entity of first.listEntities()) counts.push(entity['count']);
      assert.deepEqual(counts, [2, 3, 4]);

      const queues = QueueServiceClient.fromConnectionString(one.connectionString());
      const queue = queues.getQueueClient('orders');
      await queue.create();
      await queue.sendMessage('first');
      const { receivedMessageItems } = await queue.receiveMessages();
      const [message] = receivedMessageItems;
      assert.equal(message?.messageText, 'first');
      await queue.deleteMessage(message.messageId, message.popReceipt);
      assert.equal((await queue.getProperties()).approximateMessagesCount, 0);

      const blobs = BlobServiceClient.fromConnectionString(one.connectionString());
      const container = blobs.getContainerClient('files');
      await container.create();
      const content = Buffer.alloc(100_000, 7);
      await container.getBlockBlobClient('large').uploadData(content);
      await container.getBlockBlobClient('small').uploadData(Buffer.from('few bytes'));
      await container.getBlockBlobClient('large').uploadData(content.subarray(1));
      const read = await container.getBlockBlobClient('large').downloadToBuffer();
      assert.ok(read.equals(content.subarray(1)));
      await container.deleteBlob('small');
      const names: string[] = [];
      for await (const { name } of container.listBlobsFlat()) names.push(name);
      assert.deepEqual(names, ['large']);
    },
  );
});
