import assert from 'node:assert/strict';
import type { WireClient } from '../wire/kit/client.js';
import type { QueueWireClient } from '../wire/kit/queue-client.js';
import { continuationOf } from './continuations.js';
import { policiesXml } from './documents.js';

/**
 * Texts in rows, messages and metadata that no request may read without a right to it: in this
 * account where no narrow credential reaches, and everywhere in an account whose key is not used.
 * They are valid names of tables and queues.
 */
export const secretHere = 'secretofthisaccount7c1f';
export const secretElsewhere = 'secretofanotheraccount93ab';

/** An account of the server whose key no request is signed with. */
export const otherAccount = 'otheraccount';

export const guardedTable = 'Guarded';
export const guardedQueue = 'guarded-queue';
/** A stored policy of the guarded table and of the guarded queue. */
export const guardedPolicy = 'policy';
/** Every range of a signature is compared with these. */
export const guardedRows: readonly { readonly partition: string; readonly from: string }[] = [
  { partition: 'a-vault', from: '' },
  { partition: 'own', from: 'n' },
  { partition: 'vault', from: '' },
];
/** The scope of narrow signatures before anything is changed in them. */
export const openRange = { spk: 'own', srk: 'a', epk: 'own', erk: 'm' };

const rowsOfEach = 20;

/** Content in two accounts that no request of the fuzzer may read or change. */
export interface Guarded {
  readonly tables: WireClient;
  readonly queues: QueueWireClient;
  readonly otherTables: WireClient;
  readonly otherQueues: QueueWireClient;
}

/** Creates the content; `names` are tables and queues that the other account has too. */
export async function addGuarded(
  guarded: Guarded,
  names: { readonly tables: readonly string[]; readonly queues: readonly string[] },
): Promise<void> {
  const { tables, queues, otherTables, otherQueues } = guarded;
  await makeTable(tables, guardedTable);
  await tables.put(guardedTable, { PartitionKey: 'own', RowKey: 'a1', text: 'mine' });
  for (const { partition, from } of guardedRows) {
    for (let index = 0; index < rowsOfEach; index += 1) {
      const keys = { PartitionKey: partition, RowKey: `${from}${index}` };
      await tables.put(guardedTable, { ...keys, index, text: secretHere });
    }
  }
  const acl = { method: 'PUT', path: `/${guardedTable}?comp=acl` };
  const body = policiesXml('r', [guardedPolicy, secretHere]);
  assert.equal((await tables.send({ ...acl, body })).status, 204);
  await addQueue(queues, guardedQueue, secretHere);
  await queues.expect(204, { method: 'PUT', path: `/${guardedQueue}?comp=acl`, body });
  for (const name of [...names.tables, guardedTable, secretElsewhere]) {
    await makeTable(otherTables, name);
    for (const [partition, row] of [
      ['p', 'r'],
      ['own', 'a1'],
      [secretElsewhere, 'r'],
    ] as const) {
      await otherTables.put(name, { PartitionKey: partition, RowKey: row, text: secretElsewhere });
    }
  }
  for (const name of [...names.queues, guardedQueue, secretElsewhere]) {
    await addQueue(otherQueues, name, secretElsewhere);
  }
}

async function makeTable(client: WireClient, name: string): Promise<void> {
  const body = `{"TableName":"${name}"}`;
  const response = await client.send({ method: 'POST', path: '/Tables', body });
  assert.equal(response.status, 201, response.text);
}

async function addQueue(client: QueueWireClient, name: string, text: string): Promise<void> {
  const headers = { 'x-ms-meta-Guard': text };
  await client.expect(201, { method: 'PUT', path: `/${name}`, headers });
  for (let index = 0; index < rowsOfEach; index += 1) {
    await client.put(name, `${text} ${index}`, { messagettl: -1 });
  }
}

/**
 * All of the guarded content as text. Left out is what narrow signatures may add: rows of their
 * range, and messages after the guarded ones.
 */
export async function textOfGuarded(guarded: Guarded): Promise<string> {
  const { tables, queues, otherTables, otherQueues } = guarded;
  const intervals = guardedRows.map(
    ({ partition, from }) => `(PartitionKey eq '${partition}' and RowKey ge '${from}')`,
  );
  const parts = [
    await rowsOf(tables, guardedTable, intervals.join(' or ')),
    (await tables.send({ path: `/${guardedTable}?comp=acl` })).text,
    await queueText(queues, guardedQueue),
    (await queues.expect(200, { path: `/${guardedQueue}?comp=acl` })).text,
  ];
  for (const name of await tableNames(otherTables))
    parts.push(name, await rowsOf(otherTables, name));
  const list = (await otherQueues.expect(200, { path: '/?comp=list&include=metadata' })).text;
  for (const [, name = ''] of list.matchAll(/<Name>([^<]*)/g)) {
    parts.push(await queueText(otherQueues, name));
  }
  for (const client of [otherTables, otherQueues]) {
    const properties = { path: '/?restype=service&comp=properties' };
    const response = await client.send(properties);
    assert.equal(response.status, 200, response.text);
    parts.push(response.text);
  }
  return [...parts, list].join('\n');
}

async function tableNames(client: WireClient): Promise<readonly string[]> {
  const pages = await pagesOf(client, '/Tables');
  return pages.flatMap((page) => page.map((item) => String(item['TableName'])));
}

async function rowsOf(client: WireClient, table: string, filter?: string): Promise<string> {
  const option = filter === undefined ? '' : `?$filter=${encodeURIComponent(filter)}`;
  const pages = await pagesOf(client, `/${table}()${option}`);
  return pages.map((page) => page.map((item) => JSON.stringify(item)).join('\n')).join('\n');
}

/** The items of all pages, which may have any size. */
async function pagesOf(
  client: WireClient,
  path: string,
): Promise<readonly (readonly Record<string, unknown>[])[]> {
  const pages: Record<string, unknown>[][] = [];
  for (let next = ''; ;) {
    const options = path.includes('?') ? next : next.replace('&', '?');
    const response = await client.send({ path: path + options });
    assert.equal(response.status, 200, response.text);
    pages.push(response.items);
    next = continuationOf(response);
    if (next === '') return pages;
  }
}

async function queueText(client: QueueWireClient, queue: string): Promise<string> {
  const path = `/${queue}/messages?peekonly=true&numofmessages=${rowsOfEach}`;
  const metadata = await client.expect(200, { path: `/${queue}?comp=metadata` });
  return [(await client.expect(200, { path })).text, metadata.header('x-ms-meta-Guard')].join('\n');
}
