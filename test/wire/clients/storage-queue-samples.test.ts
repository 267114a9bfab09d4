import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  newPipeline,
  QueueClient,
  QueueServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import { developmentAccount, developmentKey } from '../kit/signature.js';
import { statusOf } from '../kit/sdk.js';
import { startFixture } from '../kit/server.js';

// The samples of the official client's README and of its quick start, with nothing changed but where
// the server is and which credential opens it. What they print is checked.

const { server } = await startFixture();
const connectionString = server.connectionString();

/** Takes the place of the console of a sample. */
function printer(): { readonly lines: string[]; log(...parts: readonly unknown[]): void } {
  const lines: string[] = [];
  return { lines, log: (...parts) => lines.push(parts.map(String).join(' ')) };
}

const guid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** A line in which every `#` stands for a GUID. */
function matchLine(line: string | undefined, expected: string): void {
  assert.match(line ?? '', new RegExp(`^${expected.replaceAll('#', guid)}$`));
}

describe('samples of the README of @azure/storage-queue', () => {
  const account = developmentAccount;
  const accountKey = developmentKey;
  const queueServiceClient = new QueueServiceClient(
    server.queueEndpoint,
    new StorageSharedKeyCredential(account, accountKey),
  );

  it('creates a service client with a shared key and options', async () => {
    const sharedKeyCredential = new StorageSharedKeyCredential(account, accountKey);

    const client = new QueueServiceClient(server.queueEndpoint, sharedKeyCredential, {
      retryOptions: { maxTries: 4 }, // Retry options
      userAgentOptions: {
        userAgentPrefix: 'BasicSample V10.0.0',
      }, // Customized telemetry string
    });
    assert.equal(statusOf(await client.getProperties()), 200);
  });

  it('lists queues in both ways', async () => {
    const console = printer();
    await queueServiceClient.createQueue('readme-one');
    await queueServiceClient.createQueue('readme-two');

    let i = 1;
    for await (const item of queueServiceClient.listQueues()) {
      console.log(`Queue${i++}: ${item.name}`);
    }
    const looped = console.lines.splice(0);
    assert.ok(looped.includes('Queue1: readme-one') && looped.includes('Queue2: readme-two'));

    i = 1;
    const iterator = queueServiceClient.listQueues();
    let { done, value } = await iterator.next();
    while (!done) {
      console.log(`Queue${i++}: ${value.name}`);
      ({ done, value } = await iterator.next());
    }
    assert.deepEqual(console.lines, looped);
  });

  it('creates a queue, sends, peeks, receives, deletes, and deletes the queue', async () => {
    const console = printer();
    const queueName = 'readme-valid-queue-name';
    const queueClient = queueServiceClient.getQueueClient(queueName);
    const createQueueResponse = await queueClient.create();
    console.log(
      `Created queue ${queueName} successfully, service assigned request Id: ${createQueueResponse.requestId}`,
    );

    // Send a message into the queue using the sendMessage method.
    const sendMessageResponse = await queueClient.sendMessage('Hello World!');
    console.log(
      `Sent message successfully, service assigned message Id: ${sendMessageResponse.messageId}, service assigned request Id: ${sendMessageResponse.requestId}`,
    );

    const peekMessagesResponse = await queueClient.peekMessages();
    console.log(
      `The peeked message is: ${peekMessagesResponse.peekedMessageItems[0]?.messageText}`,
    );

    const response = await queueClient.receiveMessages();
    if (response.receivedMessageItems.length === 1) {
      const [receivedMessageItem] = response.receivedMessageItems;
      assert.ok(receivedMessageItem);
      console.log(`Processing & deleting message with content: ${receivedMessageItem.messageText}`);
      const deleteMessageResponse = await queueClient.deleteMessage(
        receivedMessageItem.messageId,
        receivedMessageItem.popReceipt,
      );
      console.log(
        `Delete message successfully, service assigned request Id: ${deleteMessageResponse.requestId}`,
      );
    }

    const deleteQueueResponse = await queueClient.delete();
    console.log(
      `Deleted queue successfully, service assigned request Id: ${deleteQueueResponse.requestId}`,
    );

    const expected = [
      `Created queue ${queueName} successfully, service assigned request Id: #`,
      'Sent message successfully, service assigned message Id: #, service assigned request Id: #',
      'The peeked message is: Hello World!',
      'Processing & deleting message with content: Hello World!',
      'Delete message successfully, service assigned request Id: #',
      'Deleted queue successfully, service assigned request Id: #',
    ];
    assert.equal(console.lines.length, expected.length);
    for (const [index, line] of expected.entries()) matchLine(console.lines[index], line);
  });
});

describe('samples of the client’s documentation', () => {
  it('uses a queue client of its own with a custom pipeline', async () => {
    const credential = new StorageSharedKeyCredential(developmentAccount, developmentKey);
    const pipeline = newPipeline(credential, {
      retryOptions: { maxTries: 4 },
      userAgentOptions: { userAgentPrefix: 'AdvancedSample V1.0.0' },
      keepAliveOptions: { enable: false },
    });
    const queueServiceClient = new QueueServiceClient(server.queueEndpoint, pipeline);
    const queueClient = queueServiceClient.getQueueClient('with-pipeline');
    await queueClient.create();

    // Enqueue several messages
    let enqueueQueueResponse = await queueClient.sendMessage('Hello World 1');
    enqueueQueueResponse = await queueClient.sendMessage('Hello World 2');
    enqueueQueueResponse = await queueClient.sendMessage('Hello World 3');
    assert.match(enqueueQueueResponse.messageId, new RegExp(`^${guid}$`));
    assert.match(enqueueQueueResponse.clientRequestId ?? '', new RegExp(`^${guid}$`));

    const peekMessagesResponse = await queueClient.peekMessages({ numberOfMessages: 5 });
    assert.equal(peekMessagesResponse.peekedMessageItems.length, 3);
    assert.equal(peekMessagesResponse.peekedMessageItems[0]?.messageText, 'Hello World 1');

    // You do your work here
    const dequeueResponse = await queueClient.receiveMessages();
    if (dequeueResponse.receivedMessageItems.length === 1) {
      const [dequeueMessageItem] = dequeueResponse.receivedMessageItems;
      assert.ok(dequeueMessageItem);
      const deleteMessageResponse = await queueClient.deleteMessage(
        dequeueMessageItem.messageId,
        dequeueMessageItem.popReceipt,
      );
      assert.match(deleteMessageResponse.requestId ?? '', new RegExp(`^${guid}$`));
    }
    await queueClient.delete();
  });

  it('sends, peeks, updates, counts, receives and deletes as the quick start does', async () => {
    const console = printer();
    const queueName = 'quickstart7a1b';
    console.log('Creating queue...');
    console.log('\t', queueName);
    const queueServiceClient = QueueServiceClient.fromConnectionString(connectionString);
    const queueClient = queueServiceClient.getQueueClient(queueName);
    const createQueueResponse = await queueClient.create();
    console.log('Queue created, requestId:', createQueueResponse.requestId);

    console.log('Adding messages to the queue...');
    // Send several messages to the queue
    await queueClient.sendMessage('First message');
    await queueClient.sendMessage('Second message');
    const sendMessageResponse = await queueClient.sendMessage('Third message');
    console.log('Messages added, requestId:', sendMessageResponse.requestId);

    console.log('Peek at the messages in the queue...');
    // Peek at messages in the queue
    const peekedMessages = await queueClient.peekMessages({ numberOfMessages: 5 });
    for (const item of peekedMessages.peekedMessageItems) {
      // Display the peeked message
      console.log('\t', item.messageText);
    }

    console.log('Updating the third message in the queue...');
    // Update a message using the response when calling sendMessage earlier
    const updateMessageResponse = await queueClient.updateMessage(
      sendMessageResponse.messageId,
      sendMessageResponse.popReceipt,
      'Third message has been updated',
    );
    console.log('Message updated, requestId:', updateMessageResponse.requestId);

    const properties = await queueClient.getProperties();
    console.log('Approximate queue length: ', properties.approximateMessagesCount);

    console.log('Receiving messages from the queue...');
    // Get messages from the queue
    const receivedMessagesResponse = await queueClient.receiveMessages({ numberOfMessages: 5 });
    console.log('Messages received, requestId:', receivedMessagesResponse.requestId);

    // 'Process' and delete messages from the queue
    for (const message of receivedMessagesResponse.receivedMessageItems) {
      // 'Process' the message
      console.log('\tProcessing:', message.messageText);
      // Delete the message
      const deleteMessageResponse = await queueClient.deleteMessage(
        message.messageId,
        message.popReceipt,
      );
      console.log('\tMessage deleted, requestId:', deleteMessageResponse.requestId);
    }

    console.log('Deleting queue...');
    const deleteQueueResponse = await queueClient.delete();
    console.log('Queue deleted, requestId:', deleteQueueResponse.requestId);

    const expected = [
      'Creating queue...',
      `\t ${queueName}`,
      'Queue created, requestId: #',
      'Adding messages to the queue...',
      'Messages added, requestId: #',
      'Peek at the messages in the queue...',
      '\t First message',
      '\t Second message',
      '\t Third message',
      'Updating the third message in the queue...',
      'Message updated, requestId: #',
      'Approximate queue length:  3',
      'Receiving messages from the queue...',
      'Messages received, requestId: #',
    ];
    for (const [index, line] of expected.entries()) matchLine(console.lines[index], line);
    const rest = console.lines.slice(expected.length);
    // The order of messages is not promised, and an update may move one.
    assert.deepEqual(rest.filter((line) => line.startsWith('\tProcessing')).toSorted(), [
      '\tProcessing: First message',
      '\tProcessing: Second message',
      '\tProcessing: Third message has been updated',
    ]);
    matchLine(rest.at(-1), 'Queue deleted, requestId: #');
  });

  it('updates the content of a received message in place', async () => {
    const queueClient = new QueueClient(connectionString, 'update-in-place');
    await queueClient.create();
    await queueClient.sendMessage('Hello World');

    const messages = await queueClient.receiveMessages();
    const message = messages.receivedMessageItems[0];
    assert.ok(message);
    // Update the received message
    await queueClient.updateMessage(
      message.messageId,
      message.popReceipt,
      'This is the message content.',
    );
    const { peekedMessageItems } = await queueClient.peekMessages();
    assert.equal(peekedMessageItems[0]?.messageText, 'This is the message content.');
  });

  it('gets up to 5 messages for 5 minutes', async () => {
    const queueClient = new QueueClient(connectionString, 'five-messages');
    await queueClient.createIfNotExists();
    for (let index = 0; index < 7; index += 1) await queueClient.sendMessage(`message ${index}`);

    // Get up to 5 messages from the queue
    const receivedMsgsResp = await queueClient.receiveMessages({
      numberOfMessages: 5,
      visibilityTimeout: 5 * 60,
    });
    for (const message of receivedMsgsResp.receivedMessageItems) {
      await queueClient.deleteMessage(message.messageId, message.popReceipt);
    }
    assert.equal((await queueClient.getProperties()).approximateMessagesCount, 2);
  });

  it('lists queues page by page as the sample of listing does', async () => {
    const console = printer();
    const queueServiceClient = QueueServiceClient.fromConnectionString(connectionString);
    for (let index = 0; index < 5; index += 1) {
      await queueServiceClient.createQueue(`sample-list-${index}`);
    }
    const prefix = 'sample-list-';

    let i = 1;
    for await (const response of queueServiceClient
      .listQueues({ prefix })
      .byPage({ maxPageSize: 2 })) {
      for (const item of response.queueItems ?? []) console.log(`Queue${i++}: ${item.name}`);
    }
    // Continue from the previous marker
    let iterator = queueServiceClient.listQueues({ prefix }).byPage({ maxPageSize: 2 });
    let item = (await iterator.next()).value;
    const marker = item?.continuationToken ?? '';
    iterator = queueServiceClient
      .listQueues({ prefix })
      .byPage({ continuationToken: marker, maxPageSize: 10 });
    item = (await iterator.next()).value;
    for (const queue of item?.queueItems ?? []) console.log(`Again ${queue.name}`);

    assert.deepEqual(console.lines, [
      ...[0, 1, 2, 3, 4].map((index) => `Queue${index + 1}: sample-list-${index}`),
      ...[2, 3, 4].map((index) => `Again sample-list-${index}`),
    ]);
  });
});
