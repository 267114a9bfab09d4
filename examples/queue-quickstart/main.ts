// The steps of the quick start in the documentation of @azure/storage-queue.
// It knows nothing of this server. Run it while `npm start` runs.
import { QueueClient } from '@azure/storage-queue';

const connectionString =
  process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const queueName = 'quickstart';
const queueClient = new QueueClient(connectionString, queueName);

console.log(`Creating queue ${queueName}...`);
const createQueueResponse = await queueClient.create();
console.log('Queue created, requestId:', createQueueResponse.requestId);

console.log('Adding messages to the queue...');
await queueClient.sendMessage('First message');
await queueClient.sendMessage('Second message');
const sendMessageResponse = await queueClient.sendMessage('Third message');

console.log('Peek at the messages in the queue...');
const peekedMessages = await queueClient.peekMessages({ numberOfMessages: 5 });
for (const item of peekedMessages.peekedMessageItems) {
  console.log('\t', item.messageText);
}

console.log('Updating the third message in the queue...');
await queueClient.updateMessage(
  sendMessageResponse.messageId,
  sendMessageResponse.popReceipt,
  'Third message has been updated',
);

const properties = await queueClient.getProperties();
console.log('Approximate queue length:', properties.approximateMessagesCount);

console.log('Receiving messages from the queue...');
const receivedMessages = await queueClient.receiveMessages({ numberOfMessages: 5 });
for (const message of receivedMessages.receivedMessageItems) {
  console.log('\tProcessing', message.messageText);
  await queueClient.deleteMessage(message.messageId, message.popReceipt);
}

console.log('Deleting queue...');
await queueClient.delete();
console.log('Done');
