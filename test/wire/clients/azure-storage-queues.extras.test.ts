import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../../src/app/index.js';
import {
  legacyCall as call,
  legacyNames,
  legacyRefusal as answerOf,
  loadLegacyClient,
} from '../../support/legacy-client.js';
import { startFixture } from '../kit/server.js';

// The legacy Node client: version 2018-03-28, metadata in lower case, another XML parser.

interface Message {
  readonly messageId?: string;
  readonly popReceipt?: string;
  readonly messageText?: string;
  readonly dequeueCount?: string;
}

interface Queue {
  readonly name: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly approximateMessageCount?: number;
}

interface Queues {
  readonly entries: readonly Queue[];
  readonly continuationToken: unknown;
}

interface Properties {
  readonly Logging?: { Read: boolean; RetentionPolicy: { Enabled: boolean; Days: number } };
}

const azure = loadLegacyClient();
const clock = manualClock(Date.now() * 1000);
const { server } = await startFixture({ clock, checkClockSkew: false });
const service = azure.createQueueService(server.connectionString());
const newQueue = legacyNames((name, done) => service.createQueue(name, done));

const put = (queue: string, text: string, options: object = {}) =>
  call<Message>((done) => service.createMessage(queue, text, options, done));
const get = (queue: string, options: object = {}) =>
  call<Message[]>((done) => service.getMessages(queue, options, done));
const peek = (queue: string, options: object = { numOfMessages: 32 }) =>
  call<Message[]>((done) => service.peekMessages(queue, options, done));
const remove = (queue: string, { messageId = '', popReceipt = '' }: Message) =>
  call((done) => service.deleteMessage(queue, messageId, popReceipt, done));

async function peekTexts(queue: string): Promise<(string | undefined)[]> {
  return (await peek(queue)).map(({ messageText }) => messageText);
}

describe('azure-storage: queues', () => {
  it('creates if not exists, tells that it exists, deletes if exists', async () => {
    type Created = Queue & { readonly created?: boolean };
    const create = () =>
      call<Created>((done) => service.createQueueIfNotExists('legacy-once', done));
    assert.equal((await create()).created, true);
    assert.equal((await create()).created, false);
    const exists = (name: string) =>
      call<{ exists?: boolean }>((done) => service.doesQueueExist(name, done));
    assert.equal((await exists('legacy-once')).exists, true);
    assert.equal((await exists('legacy-twice')).exists, false);
    const drop = () => call<boolean>((done) => service.deleteQueueIfExists('legacy-once', done));
    assert.equal(await drop(), true);
    assert.equal(await drop(), false);
  });

  it('tells other metadata from the same', async () => {
    const create = (metadata: Record<string, string>) =>
      call((done) => service.createQueue('legacy-meta', { metadata }, done));
    await create({ colour: 'blue' });
    await create({ colour: 'blue' });
    assert.equal(await answerOf(create({ colour: 'red' })), '409 QueueAlreadyExists');
    const read = () => call<Queue>((done) => service.getQueueMetadata('legacy-meta', done));
    assert.deepEqual((await read()).metadata, { colour: 'blue' });
    await call((done) => service.setQueueMetadata('legacy-meta', { a: '1', b: '2' }, done));
    assert.deepEqual((await read()).metadata, { a: '1', b: '2' });
  });

  it('lists by prefix, pages and includes metadata', async () => {
    for (const letter of ['c', 'a', 'b']) {
      const metadata = { letter };
      await call((done) => service.createQueue(`legacy-list-${letter}`, { metadata }, done));
    }
    const list = (token: unknown, options: object) =>
      call<Queues>((done) =>
        service.listQueuesSegmentedWithPrefix('legacy-list-', token, options, done),
      );
    const first = await list(null, { maxResults: 2, include: 'metadata' });
    assert.deepEqual(
      first.entries.map(({ name, metadata }) => [name, { ...metadata }]),
      [
        ['legacy-list-a', { letter: 'a' }],
        ['legacy-list-b', { letter: 'b' }],
      ],
    );
    const second = await list(first.continuationToken, {});
    assert.deepEqual(
      second.entries.map(({ name }) => name),
      ['legacy-list-c'],
    );
    assert.equal(second.continuationToken, null);
  });

  it('sets and gets access policies', async () => {
    const queue = await newQueue();
    const policies = {
      readers: { Permissions: 'r', Expiry: new Date('2030-01-01T00:00:00Z') },
      writers: { Permissions: 'raup', Start: new Date('2020-01-01T00:00:00Z') },
    };
    await call((done) => service.setQueueAcl(queue, policies, done));
    const { signedIdentifiers = {} } = await call<
      Queue & { signedIdentifiers?: Record<string, { Permissions?: string }> }
    >((done) => service.getQueueAcl(queue, done));
    assert.deepEqual(Object.keys(signedIdentifiers), ['readers', 'writers']);
    assert.equal(signedIdentifiers['writers']?.Permissions, 'raup');
  });

  it('tells a queue that is not there', async () => {
    assert.equal(await answerOf(put('legacy-missing', 'x')), '404 QueueNotFound');
    assert.equal(
      await answerOf(call((done) => service.deleteQueue('legacy-missing', done))),
      '404 QueueNotFound',
    );
  });
});

describe('azure-storage: the service', () => {
  it('sets and gets properties', async () => {
    const read = () => call<Properties>((done) => service.getServiceProperties(done));
    const properties = await read();
    assert.ok(properties.Logging !== undefined);
    properties.Logging.Read = true;
    properties.Logging.RetentionPolicy = { Enabled: true, Days: 7 };
    await call((done) => service.setServiceProperties(properties, done));
    const { Logging } = await read();
    assert.equal(Logging?.Read, true);
    assert.deepEqual({ ...Logging?.RetentionPolicy }, { Enabled: true, Days: 7 });
  });
});

describe('azure-storage: messages', () => {
  it('puts, peeks, gets, updates and deletes', async () => {
    const queue = await newQueue();
    const created = await put(queue, 'Hello world!');
    assert.match(created.messageId ?? '', /^[0-9a-f-]{36}$/);
    assert.ok(created.popReceipt !== undefined && created.popReceipt !== '');
    assert.deepEqual(await peekTexts(queue), ['Hello world!']);
    const [message] = await get(queue, { visibilityTimeout: 60 });
    assert.ok(message !== undefined);
    assert.equal(message.messageText, 'Hello world!');
    assert.equal(Number(message.dequeueCount), 1);
    const updated = await call<Message>((done) =>
      service.updateMessage(
        queue,
        message.messageId ?? '',
        message.popReceipt ?? '',
        10,
        { messageText: 'in <place>' },
        done,
      ),
    );
    assert.equal(await answerOf(remove(queue, message)), '404 MessageNotFound');
    clock.advanceMicros(10_000_000);
    assert.deepEqual(await peekTexts(queue), ['in <place>']);
    await remove(queue, { ...message, popReceipt: updated.popReceipt ?? '' });
    assert.deepEqual(await peekTexts(queue), []);
  });

  it('takes visibility and time to live', async () => {
    const queue = await newQueue();
    await put(queue, 'later', { visibilityTimeout: 5 });
    await put(queue, 'short', { messageTimeToLive: 4 });
    assert.deepEqual(await peekTexts(queue), ['short']);
    clock.advanceMicros(5_000_000);
    assert.deepEqual(await peekTexts(queue), ['later']);
  });

  it('gets 32 messages at most, and counts and clears them', async () => {
    const queue = await newQueue();
    for (let index = 0; index < 3; index += 1) await put(queue, String(index));
    assert.equal((await get(queue, { numOfMessages: 2 })).length, 2);
    assert.equal(
      await answerOf(get(queue, { numOfMessages: 33 })),
      '400 OutOfRangeQueryParameterValue',
    );
    const read = () => call<Queue>((done) => service.getQueueMetadata(queue, done));
    assert.equal((await read()).approximateMessageCount, 3);
    await call((done) => service.clearMessages(queue, done));
    assert.equal((await read()).approximateMessageCount ?? 0, 0);
  });

  it('keeps texts in its encodings', async () => {
    const { TextBase64QueueMessageEncoder, TextXmlQueueMessageEncoder } = azure.QueueMessageEncoder;
    const texts = ['<x a="b">&amp;</x>', 'příliš 😀', ' blanks ', 'a\nb\tc', '100% + 1'];
    for (const encoder of [new TextXmlQueueMessageEncoder(), new TextBase64QueueMessageEncoder()]) {
      const queue = await newQueue();
      service.messageEncoder = encoder;
      for (const text of texts) await put(queue, text);
      assert.deepEqual(await peekTexts(queue), texts);
    }
    service.messageEncoder = new TextXmlQueueMessageEncoder();
  });
});
