import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertOperation, sendChangeset } from '../../test/wire/kit/batch.js';
import { BlobWireClient } from '../../test/wire/kit/blob-client.js';
import { blobSas } from '../../test/wire/kit/blob-sas.js';
import { WireClient } from '../../test/wire/kit/client.js';
import { QueueWireClient } from '../../test/wire/kit/queue-client.js';
import { withSas } from '../../test/wire/kit/sas.js';
import type { WireResponse } from '../../test/wire/kit/response.js';
import { InvariantError } from '../base/invariant.js';
import { ContentClosedError, ContentSessionLostError } from '../content/errors.js';
import {
  CommitUnknownError,
  StoreBusyError,
  StoreClosedError,
  StoreFailedError,
  StoreWriteError,
  TransactionConflictError,
} from '../kv/errors.js';
import type { ServedStore } from '../kv/served-store.js';
import type { CommitBatch, Store } from '../kv/store.js';
import { openStore } from './backend.js';
import type { RequestRecord, ServerOptions } from './index.js';
import { startServer } from './server.js';
import { storeFailure } from './store-failure.js';

const errors: string[] = [];
const logger = {
  info: () => undefined,
  warn: () => undefined,
  error: (message: string) => void errors.push(message),
};

interface Failure {
  error?: Error;
  /** Absent: every commit fails. */
  of?: (batch: CommitBatch) => boolean;
  /** Commits wait for it. */
  gate?: Promise<void>;
}

/** A server whose commits fail while `failure.error` is set. */
async function faultyServer(options: ServerOptions = {}) {
  const failure: Failure = {};
  const server = await startServer(
    { inMemory: true, tablePort: 0, queuePort: 0, blobPort: 0, logger, ...options },
    'exclusive',
    async (settings, sharing) => faulty(await openStore(settings, sharing), failure),
  );
  const tables = WireClient.of(server);
  const queues = QueueWireClient.of(server);
  const blobs = BlobWireClient.of(server);
  return {
    failure,
    tables,
    queues,
    blobs,
    async [Symbol.asyncDispose]() {
      tables.close();
      queues.close();
      blobs.close();
      delete failure.error;
      await server.close();
    },
  };
}

function faulty(store: ServedStore, failure: Failure): ServedStore {
  const commit: Store['commit'] = async (batch) => {
    await failure.gate;
    if (failure.error !== undefined && failure.of?.(batch) !== false) throw failure.error;
    return store.commit(batch);
  };
  return {
    versionsGlobal: store.versionsGlobal,
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range, options) => store.range(range, options),
    commit,
    lastVersion: () => store.lastVersion(),
    trouble: () => store.trouble(),
    close: () => store.close(),
  };
}

describe('a failure of the store', () => {
  it('is a busy server when a transaction conflicts each time, or its content is closed or lost', () => {
    for (const error of [
      new TransactionConflictError(32),
      new ContentClosedError(),
      new ContentSessionLostError(),
    ]) {
      const failure = storeFailure(error);
      assert.deepEqual([failure?.code, failure?.retryAfterSeconds], ['ServerBusy', 1]);
    }
  });

  const headers = { 'x-ms-blob-type': 'BlockBlob' };
  const cases = [
    { error: new StoreBusyError(), status: 503, code: 'ServerBusy', retryAfter: '1' },
    { error: new CommitUnknownError('?'), status: 500, code: 'OperationTimedOut' },
    { error: new StoreWriteError('disk'), status: 500, code: 'InternalError' },
  ];
  for (const { error, status, code, retryAfter } of cases) {
    it(`is answered with ${status} ${code} by every service when it is a ${error.name}`, async () => {
      await using server = await faultyServer();
      const { tables, queues, blobs, failure } = server;
      const table = await tables.newTable();
      await queues.expect(201, { method: 'PUT', path: '/tasks' });
      await blobs.expect(201, { method: 'PUT', path: '/files?restype=container' });
      failure.error = error;
      const entity = { PartitionKey: 'p', RowKey: 'r' };
      const answers: [WireResponse, RegExp][] = [
        [await tables.insert(table, entity), new RegExp(`"code":"${code}"`)],
        [
          await sendChangeset(tables, [insertOperation(table, entity)]),
          new RegExp(`<code>${code}</code>|"code":"${code}"`),
        ],
        [
          await queues.send({
            method: 'POST',
            path: '/tasks/messages',
            body: '<QueueMessage><MessageText>a</MessageText></QueueMessage>',
          }),
          new RegExp(`<Code>${code}</Code>`),
        ],
        [
          await blobs.send({ method: 'PUT', path: '/files/a', headers, body: 'text' }),
          new RegExp(`<Code>${code}</Code>`),
        ],
      ];
      // Unexpected failures are logged for the operator; load is not.
      const ofRequests = errors.splice(0).filter((message) => message.startsWith('a request'));
      assert.equal(ofRequests.length, code === 'ServerBusy' ? 0 : answers.length);
      for (const [answer, body] of answers) {
        assert.equal(answer.status, status, answer.text);
        assert.match(answer.text, body);
        assert.equal(answer.header('x-ms-error-code'), code);
        assert.equal(answer.header('retry-after'), retryAfter);
      }
    });
  }

  const deletionsOf = (blobs: BlobWireClient, container: string, names: readonly string[]) => {
    const token = blobSas(container, { sp: 'd' });
    const parts = names.map((name, index) => {
      const target = withSas(`/${blobs.account}/${container}/${name}`, token);
      const head = `--b\r\nContent-Type: application/http\r\nContent-ID: ${index}`;
      return `${head}\r\n\r\nDELETE ${target} HTTP/1.1\r\n\r\n\r\n`;
    });
    return blobs.send({
      method: 'POST',
      path: '/?comp=batch',
      headers: { 'Content-Type': 'multipart/mixed; boundary=b' },
      body: `${parts.join('')}--b--\r\n`,
    });
  };
  const statusesOf = ({ text }: WireResponse) =>
    Array.from(text.matchAll(/^HTTP\/1\.1 (\d+)/gm), ([, status]) => status);
  const putAll = async (blobs: BlobWireClient, names: readonly string[]): Promise<string> => {
    const container = await blobs.newContainer();
    for (const name of names) {
      const path = `/${container}/${name}`;
      await blobs.expect(201, { method: 'PUT', path, headers, body: 'text' });
    }
    return container;
  };

  it('counts the blobs of a batch that is timed out as those of any request', async () => {
    const records: RequestRecord[] = [];
    await using server = await faultyServer({
      limits: { operationTimeoutMs: 100 },
      observers: [(record) => records.push(record)],
    });
    const { blobs, failure } = server;
    const names = ['first', 'second'];
    const container = await putAll(blobs, names);
    let open: () => void = () => undefined;
    failure.gate = new Promise((resolve) => (open = resolve));
    records.length = 0;
    const answers = [
      await deletionsOf(blobs, container, names),
      await blobs.send({ method: 'DELETE', path: `/${container}/first` }),
    ];
    open();
    assert.deepEqual(
      answers.map((each) => each.header('x-ms-error-code')),
      ['OperationTimedOut', 'OperationTimedOut'],
    );
    while (records.length < 2) await new Promise(setImmediate);
    assert.deepEqual(
      records.map(({ load }) => load.map(({ partitionKey }) => partitionKey)),
      [names, ['first']],
    );
  });

  it('of one request of a batch is answered in its part, and the others are done', async () => {
    await using server = await faultyServer();
    const { blobs, failure } = server;
    const names = ['first', 'second', 'third'];
    const container = await putAll(blobs, names);
    failure.error = new StoreBusyError();
    failure.of = ({ deletes }) => deletes.some((key) => Buffer.from(key).includes('second'));
    const answer = await deletionsOf(blobs, container, names);
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual(statusesOf(answer), ['202', '503', '202']);
    assert.match(answer.text, /x-ms-error-code: ServerBusy\r\n(?:.+\r\n)*Retry-After: 1\r\n/);
    const left = await Promise.all(
      names.map(async (name) => (await blobs.send({ path: `/${container}/${name}` })).status),
    );
    assert.deepEqual(left, [404, 200, 404]);
  });

  for (const { error, status } of [
    { error: new StoreBusyError(), status: '503' },
    { error: new StoreFailedError('stuck'), status: '500' },
    { error: new StoreClosedError(), status: '500' },
  ]) {
    it(`is not met again by the requests of a batch that have not begun when it is a ${error.name}`, async () => {
      await using server = await faultyServer();
      const { blobs, failure } = server;
      const names = Array.from({ length: 40 }, (_, index) => `b${index}`);
      const container = await putAll(blobs, names);
      errors.splice(0);
      let met = 0;
      failure.error = error;
      failure.of = ({ deletes }) => {
        if (deletes.length > 0) met += 1;
        return deletes.length > 0;
      };
      const answer = await deletionsOf(blobs, container, names);
      assert.deepEqual(
        statusesOf(answer),
        names.map(() => status),
      );
      assert.ok(met <= 8, `${met} requests met it`);
      assert.ok(!errors.includes('a request failed unexpectedly'));
    });
  }

  it('is not what an error is that nobody expected: the others of a batch are done', async () => {
    await using server = await faultyServer();
    const { blobs, failure } = server;
    const unlucky = 'the-first-of-all';
    const names = [unlucky, ...Array.from({ length: 39 }, (_, index) => `b${index}`)];
    const container = await putAll(blobs, names);
    errors.splice(0);
    failure.error = new InvariantError('made by a test');
    failure.of = ({ deletes }) => deletes.some((key) => Buffer.from(key).includes(unlucky));
    const answer = await deletionsOf(blobs, container, names);
    assert.equal(answer.status, 202, answer.text);
    const [first, ...others] = statusesOf(answer);
    assert.deepEqual([first, new Set(others)], ['500', new Set(['202'])]);
    assert.match(answer.text, /x-ms-error-code: InternalError\r\n/);
    assert.deepEqual(errors, ['a request failed unexpectedly']);
  });
});
