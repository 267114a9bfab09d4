import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue';
import * as fc from 'fast-check';
import { parseAuthorization } from './credential.js';
import { verifySharedKey } from './shared-key/shared-key.js';

// The requests of the official client, without a connection: the client signs, and this server
// verifies.

const account = 'devstoreaccount1';
const secret =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const keys = [createSecretKey(Buffer.from(secret, 'base64'))];
const endpoint = `http://127.0.0.1:10001/${account}`;

interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The request that `act` makes the client send first. */
async function sentBy(
  act: (client: QueueServiceClient) => Promise<unknown>,
  url = endpoint,
): Promise<SentRequest> {
  const sent: SentRequest[] = [];
  const credential = new StorageSharedKeyCredential(account, secret);
  const client = new QueueServiceClient(url, credential, {
    retryOptions: { maxTries: 1 },
    httpClient: {
      sendRequest: (request) => {
        const { method, url } = request;
        const headers = request.headers.headersArray();
        sent.push({ method, url, headers: headers.map(({ name, value }) => [name, value]) });
        return Promise.reject(new Error('nobody listens'));
      },
    },
  });
  await assert.rejects(act(client));
  const [first] = sent;
  assert.ok(first !== undefined);
  return first;
}

function verify({ method, url, headers }: SentRequest): void {
  const { pathname, search } = new URL(url);
  const values = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
  verifySharedKey(
    parseAuthorization(values.get('authorization') ?? ''),
    { name: account, keys },
    {
      form: 'blob-queue',
      method,
      rawPath: pathname,
      rawQuery: search.slice(1),
      version: values.get('x-ms-version') ?? '',
      headers: headers.flat(),
    },
    { skewCheckedAtMicros: undefined },
  );
}

const operations: readonly (readonly [
  what: string,
  act: (client: QueueServiceClient) => Promise<unknown>,
])[] = [
  [
    'list queues',
    (client) => client.listQueues({ prefix: 'a b+c%', includeMetadata: true }).next(),
  ],
  ['create', (client) => client.getQueueClient('q').create()],
  [
    'put',
    (client) => client.getQueueClient('q').sendMessage('text <&>', { messageTimeToLive: -1 }),
  ],
  ['get', (client) => client.getQueueClient('q').receiveMessages({ numberOfMessages: 32 })],
  ['peek', (client) => client.getQueueClient('q').peekMessages()],
  ['update', (client) => client.getQueueClient('q').updateMessage('id', 'a+b/c==', 'text', 5)],
  ['delete', (client) => client.getQueueClient('q').deleteMessage('id', 'AgAAAAMA+/=')],
  ['clear', (client) => client.getQueueClient('q').clearMessages()],
  ['policies', (client) => client.getQueueClient('q').getAccessPolicy()],
];

describe('signatures of the official client', () => {
  for (const [what, act] of operations) {
    it(`are accepted: ${what}`, async () => {
      verify(await sentBy(act));
      verify(await sentBy(act, `${endpoint}-secondary`));
      verify(await sentBy(act, 'https://devstoreaccount1.queue.example'));
    });
  }

  it('are accepted whatever the names of metadata, which it sorts as words', async () => {
    const names = fc.string({
      unit: fc.constantFrom(...Array.from('abzAZ019__')),
      minLength: 1,
      maxLength: 5,
    });
    const entries = fc.uniqueArray(fc.tuple(names, fc.constantFrom('', 'v', 'a b', 'ä')), {
      selector: ([name]) => name.toLowerCase(),
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(entries, async (metadata) => {
        const act = (client: QueueServiceClient) =>
          client.getQueueClient('q').create({ metadata: Object.fromEntries(metadata) });
        verify(await sentBy(act));
      }),
    );
  });

  it('are over what was sent: a changed parameter fails', async () => {
    const sent = await sentBy((client) => client.getQueueClient('q').deleteMessage('id', 'ab'));
    assert.throws(() => verify({ ...sent, url: sent.url.replace('=ab', '=ac') }));
  });
});
