import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  TableClient,
  TableServiceClient,
} from '@azure/data-tables';
import { QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue';

// Where the server is that the tests talk to, and what several of them need. `npm run test:interop`
// puts the connection strings of its servers into the environment.

export const connectionString = process.env.TABULARIUM_CONNECTION_STRING;
/** A server of the tests listens on http. */
export const overHttp = { allowInsecureConnection: true };

export function settingsOf(text) {
  const parts = text.split(';').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
  );
}

export const settings = settingsOf(connectionString);
export const tableKey = new AzureNamedKeyCredential(settings.AccountName, settings.AccountKey);
export const queueKey = new StorageSharedKeyCredential(settings.AccountName, settings.AccountKey);

export const tables = TableServiceClient.fromConnectionString(connectionString, overHttp);
export const queues = QueueServiceClient.fromConnectionString(connectionString);

/** A name of a table or a queue that no other test uses. */
export const freshName = (letter = 't') => letter + randomUUID().replaceAll('-', '');

export async function freshTable() {
  const table = TableClient.fromConnectionString(connectionString, freshName(), overHttp);
  await table.createTable();
  return table;
}

export async function freshQueue() {
  const queue = queues.getQueueClient(freshName('q'));
  await queue.create();
  return queue;
}

/** A client that knows a signature and no key. */
export function tableGuest(table, signature) {
  const credential = new AzureSASCredential(signature);
  return new TableClient(settings.TableEndpoint, table, credential, overHttp);
}

export function inHours(hours) {
  return new Date(Math.floor(Date.now() / 1000) * 1000 + hours * 3_600_000);
}

export async function all(iterable) {
  const found = [];
  for await (const each of iterable) found.push(each);
  return found;
}

/** Fills a partition with rows 00000, 00001, … */
export async function insertNumbers(table, partitionKey, count) {
  for (let first = 0; first < count; first += 100) {
    const length = Math.min(100, count - first);
    await table.submitTransaction(
      Array.from({ length }, (_, index) => {
        const number = first + index;
        return ['create', { partitionKey, rowKey: String(number).padStart(5, '0'), number }];
      }),
    );
  }
}

/** Expects a status and a code of the service, wherever a client puts the code. */
export async function assertRefused(promise, status, code) {
  const refusal = await promise.then(
    () => assert.fail(`expected ${status} ${code}`),
    (error) => error,
  );
  const found = refusal.code ?? refusal.details?.odataError?.code ?? refusal.details?.errorCode;
  const text = JSON.stringify([found, refusal.details ?? {}, refusal.response?.bodyAsText]);
  assert.equal(refusal.statusCode, status, `${refusal.message} ${text}`);
  assert.ok(text.includes(`${code}`), `${code} is not in ${text}`);
  return refusal;
}

/** Waits until the condition holds. */
export async function eventually(complaint, condition) {
  const deadline = Date.now() + 30_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, complaint);
    await sleep(100);
  }
}
