import assert from 'node:assert/strict';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { systemTimers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { createServer } from '../../src/app/server.js';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import { operationEnd } from '../../src/cli/partition/waiting.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { StoreFullError } from '../../src/kv/errors.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { Members, type MembersOptions } from '../../src/partition/members.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { memberDisk } from '../support/member-disk.js';
import { costly } from '../support/run-length.js';
import { mountSmallDisk } from '../support/small-disk.js';
import { deleteOperation, insertOperation, sendChangeset } from '../wire/kit/batch.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { entityPath, WireClient } from '../wire/kit/client.js';
import { messageBody, QueueWireClient } from '../wire/kit/queue-client.js';
import type { WireResponse } from '../wire/kit/response.js';

const diskMebibytes = 64;
const entity = (PartitionKey: string, RowKey: string) => ({ PartitionKey, RowKey, a: 1 });
const aclBody = '<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers />';

/** Checks for the documented refusal of a write that needs space. */
function assertRefused(response: WireResponse, what: string): void {
  assert.deepEqual([response.status, what], [500, what], response.text);
  assert.match(response.text, /InternalError/, what);
  assert.match(response.text, /The disk of the server is full but for a reserve\./, what);
}

function assertServed(response: WireResponse, what: string): void {
  assert.deepEqual([response.status < 300, what], [true, what], response.text);
}

/**
 * A server over two stores, `home` and `b`, of which one is on a small disk. `b` has the queues,
 * the names of tables, and the table `near`; the home store has the table `zoo`, and blobs.
 * Undefined where a small disk cannot be mounted.
 */
async function spread(t: TestContext, small: 'home' | 'b') {
  const disk = await mountSmallDisk(diskMebibytes, process.getuid?.() ?? 0);
  if (disk === undefined) {
    t.skip('a small file system cannot be mounted without being root');
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-low-'));
  const placed = (name: string) => join(small === name ? disk.folder : folder, name);
  const errors: string[] = [];
  const server = await createServer({
    location: placed('home'),
    stores: { b: { location: placed('b') } },
    journal: 'off',
    tablePort: 0,
    queuePort: 0,
    blobPort: 0,
    controlPort: 0,
    logger: {
      info: () => undefined,
      warn: () => undefined,
      error: (message, facts) => void errors.push(`${message} ${JSON.stringify(facts)}`),
    },
  });
  const control = new RemotePartitions(server.controlPort ?? 0);
  const tables = WireClient.of(server);
  const queues = QueueWireClient.of(server);
  const blobs = BlobWireClient.of(server);
  for (const name of ['near', 'zoo']) assertServed(await tables.createTable(name), name);
  const rangeOf = async (at: string): Promise<number> => {
    const { ranges } = await control.list();
    return ranges.findLast(({ from }) => from <= at)?.range ?? assert.fail(JSON.stringify(ranges));
  };
  const movedTo = async (range: number, to: string): Promise<string> => {
    const { operation } = await control.move(range, to);
    return (await operationEnd(control, operation)).state;
  };
  const place = 'table/devstoreaccount1/zoo';
  const { operation } = await control.split(await rangeOf('queue'), place);
  await operationEnd(control, operation);
  assert.equal(await movedTo(await rangeOf('queue'), 'b'), 'done');
  return {
    tables,
    queues,
    blobs,
    errors,
    movedTo,
    rangeOf,
    place,
    /** Leaves the small disk less than its reserve, a sixteenth of it. */
    async fill() {
      const { bavail, bsize } = await statfs(disk.folder);
      const left = (diskMebibytes / 32) << 20;
      await writeFile(join(disk.folder, 'filler'), Buffer.alloc(bavail * bsize - left));
    },
    empty: () => rm(join(disk.folder, 'filler')),
    async [Symbol.asyncDispose]() {
      for (const client of [tables, queues, blobs]) client.close();
      await server.close();
      await disk[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until a write is refused: a disk is looked at once a second. */
async function refusal(write: () => Promise<WireResponse>): Promise<WireResponse> {
  for (;;) {
    const response = await write();
    if (response.status >= 300) return response;
  }
}

void it('a commit that grows is refused while the disk of its store is low, and no other', async () => {
  const clock = manualClock();
  const put = { key: partitionPrefix('table', 'account', 1, 'p'), value: Buffer.of(1) };
  const growing = { checks: [], puts: [put], deletes: [], grows: true };
  let isLow = true;
  const opened = async (options: Pick<MembersOptions, 'homeUntil'>) => {
    const stores = new Map([['home', await openMemoryStore({ clock })]]);
    const members = new Members('home', stores, {
      ...options,
      diskOf: () => memberDisk(() => isLow),
    });
    const parts = { members, clock, timers: systemTimers, randomness: systemRandomness };
    return openPartitionedStore(parts);
  };
  const store = await opened({});
  await assert.rejects(store.commit(growing), StoreFullError);
  assert.equal(await store.get(put.key), undefined);
  assert.ok((await store.commit({ ...growing, grows: false })).ok);
  assert.ok((await store.commit({ checks: [], puts: [], deletes: [put.key] })).ok);
  // Whoever writes data that stay in the home store has looked at its disk.
  const bound = await opened({ homeUntil: partitionPrefix('table', 'b', 1, '') });
  assert.ok((await bound.commit(growing)).ok);
  isLow = false;
  assert.ok((await store.commit(growing)).ok);
  await store.close();
  await bound.close();
});

void it('a low disk of one store keeps what grows from its ranges alone', costly(), async (t) => {
  await using world = await spread(t, 'b');
  if (world === undefined) return;
  const { tables, queues, blobs, errors, movedTo, rangeOf, place } = world;
  const queue = await queues.newQueue('near');
  for (let each = 0; each < 5; each += 1) await queues.put(queue, `text ${each}`);
  const rows = Array.from({ length: 6 }, (_, index) => entity('p', `r${index}`));
  await tables.put('near', ...rows);
  await world.fill();
  let inserted = 0;
  const first = await refusal(() => tables.insert('near', entity('more', `${(inserted += 1)}`)));
  assertRefused(first, 'InsertEntity');

  const path = entityPath('near', 'p', 'r0');
  const body = JSON.stringify({ a: 2 });
  const anyEtag = { 'If-Match': '*' };
  const messages = `/${queue}/messages`;
  const metadata = { path: `/${queue}?comp=metadata`, headers: { 'x-ms-meta-a': 'b' } };
  const growing: [string, Promise<WireResponse>][] = [
    ['UpdateEntity', tables.send({ method: 'PUT', path, body, headers: anyEtag })],
    ['MergeEntity', tables.send({ method: 'MERGE', path, body, headers: anyEtag })],
    ['InsertOrReplaceEntity', tables.send({ method: 'PUT', path, body })],
    ['InsertOrMergeEntity', tables.send({ method: 'MERGE', path, body })],
    ['CreateTable', tables.createTable('another')],
    ['PutMessage', queues.send({ method: 'POST', path: messages, body: messageBody('more') })],
    ['CreateQueue', queues.send({ method: 'PUT', path: '/another' })],
    ['SetQueueMetadata', queues.send({ method: 'PUT', ...metadata })],
  ];
  for (const [name, response] of growing) assertRefused(await response, name);
  const mixed = [deleteOperation('near', ['p', 'r0']), insertOperation('near', entity('p', 'new'))];
  assert.match((await sendChangeset(tables, mixed)).text, /full but for a reserve/);
  assert.equal((await tables.get('near', 'p', 'r0')).json['a'], 1, 'nothing was changed');

  const [one, two] = await queues.get(queue, { numofmessages: 2, visibilitytimeout: 60 });
  assert.ok(one !== undefined && two !== undefined, 'GetMessages');
  const acl = { method: 'PUT', path: `/${queue}?comp=acl`, body: aclBody };
  const tableAcl = { method: 'PUT', path: '/near?comp=acl', body: aclBody };
  const deletion = { method: 'DELETE', path, headers: anyEtag };
  const served: [string, () => Promise<WireResponse>][] = [
    ['DeleteEntity', () => tables.send(deletion)],
    ['UpdateMessage', () => queues.update(queue, one, { text: 'changed' })],
    ['DeleteMessage', () => queues.delete(queue, two)],
    ['SetQueueACL', () => queues.send(acl)],
    ['SetTableAcl', () => tables.send(tableAcl)],
    ['ClearMessages', () => queues.send({ method: 'DELETE', path: messages })],
    ['InsertEntity at home', () => tables.insert('zoo', entity('p', 'r'))],
  ];
  for (const [name, send] of served) assertServed(await send(), name);
  const deletes = [deleteOperation('near', ['p', 'r1']), deleteOperation('near', ['p', 'r2'])];
  assert.doesNotMatch((await sendChangeset(tables, deletes)).text, /reserve/);
  const others = [
    insertOperation('zoo', entity('q', '1')),
    insertOperation('zoo', entity('q', '2')),
  ];
  assert.doesNotMatch((await sendChangeset(tables, others)).text, /reserve/);
  await blobs.newContainer();

  assert.match(errors.join('\n'), /the disk is full but for a reserve.*"store":"b"/);
  assert.equal(errors.length, 1, errors.join('\n'));
  await assert.rejects(movedTo(await rangeOf(place), 'b'), /'b' is full but for a reserve/);
  assert.equal(await movedTo(await rangeOf('queue'), 'home'), 'done');
  assertServed(await tables.insert('near', entity('p', 'moved')), 'InsertEntity after the move');
  const left = await tables.rowKeys('near', "PartitionKey eq 'p'");
  assert.deepEqual(left, ['moved', 'r3', 'r4', 'r5']);
});

void it('a low disk of the home store leaves the writes of others alone', costly(), async (t) => {
  await using world = await spread(t, 'home');
  if (world === undefined) return;
  const { tables, queues, blobs } = world;
  const path = `/${await blobs.newContainer()}/blob`;
  const put = (bytes: number) => {
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    return blobs.send({ method: 'PUT', path, headers, body: Buffer.alloc(bytes) });
  };
  assertServed(await put(10), 'PutBlob');
  await tables.put('zoo', entity('p', 'r'));
  await world.fill();
  let inserted = 0;
  const first = await refusal(() => tables.insert('zoo', entity('more', `${(inserted += 1)}`)));
  assertRefused(first, 'InsertEntity at home');
  assertRefused(await put(20), 'PutBlob');
  assertServed(await tables.insert('near', entity('p', 'r')), 'InsertEntity in the other');
  const queue = await queues.newQueue('near');
  await queues.put(queue, 'text');
  const deletion = { method: 'DELETE', path: entityPath('zoo', 'p', 'r') };
  assertServed(await tables.send({ ...deletion, headers: { 'If-Match': '*' } }), 'DeleteEntity');
  assertServed(await blobs.send({ method: 'DELETE', path }), 'DeleteBlob');
  await world.empty();
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if ((await tables.insert('zoo', entity('p', 'again'))).status === 201) return;
  }
  assert.fail('the server takes no writes again');
});
