import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ServerProcess, StartFailure } from '../support/crash-server.js';
import { costly, sampled } from '../support/run-length.js';
import { mountSmallDisk } from '../support/small-disk.js';
import type { BlobWireClient } from '../wire/kit/blob-client.js';
import type { WireClient } from '../wire/kit/client.js';
import { assertStatus } from '../wire/kit/errors.js';
import { messageBody, type QueueWireClient } from '../wire/kit/queue-client.js';
import type { WireResponse } from '../wire/kit/response.js';

const rowsMax = 2000;
const pad = 'x'.repeat(15_000);

function insert(client: WireClient, index: number): Promise<WireResponse> {
  const entity = { PartitionKey: `p${index % 3}`, RowKey: String(index), pad };
  return client.insert('full', entity, { Prefer: 'return-no-content' });
}

/** Inserts until a write is refused; returns the row keys that were stored. */
async function fillUp(client: WireClient): Promise<string[]> {
  const kept: string[] = [];
  for (let index = 0; index < rowsMax; index += 1) {
    const response = await insert(client, index);
    if (response.status !== 204) {
      assertWriteRefused(response);
      return kept;
    }
    kept.push(String(index));
  }
  throw new Error('the disk never became full');
}

/** Checks for the documented response: a server error that clients repeat, with the usual body. */
function assertWriteRefused(response: WireResponse): void {
  const code = (response.json['odata.error'] as { code?: string } | undefined)?.code;
  assert.deepEqual([response.status, code], [500, 'InternalError'], response.text);
}

const byNumber = (left: number, right: number) => left - right;

async function assertServes(client: WireClient, kept: readonly string[]): Promise<void> {
  for (const rowKey of kept) {
    assert.equal((await client.get('full', `p${Number(rowKey) % 3}`, rowKey)).status, 200, rowKey);
  }
  const keys = await client.rowKeys('full');
  assert.deepEqual(keys.map(Number).sort(byNumber), kept.map(Number), 'and nothing refused');
}

it(
  'refuses writes and serves reads while its data file cannot grow, and recovers',
  costly(),
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-full-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    let server = await ServerProcess.start(directory, { fileKiBMax: 3000 });
    t.after(() => server.end('SIGKILL'));
    const client = server.client();
    await client.send({ method: 'POST', path: '/Tables', body: '{"TableName":"full"}' });
    const kept = await fillUp(client);
    assert.ok(kept.length > 50, `${kept.length} rows`);
    for (let index = rowsMax; index < rowsMax + 5; index += 1) {
      const response = await insert(client, index);
      // Pages that others no longer need may be free meanwhile.
      if (response.status === 204) kept.push(String(index));
      else assertWriteRefused(response);
    }
    await assertServes(client, kept);
    client.close();
    assert.equal((await server.end('SIGTERM')).code, 0);
    server = await ServerProcess.start(directory);
    const again = server.client();
    await assertServes(again, kept);
    assert.equal((await insert(again, kept.length)).status, 204);
    again.close();
  },
);

/** Puts messages until even a small one is refused; returns how many were put. */
async function fillQueue(queues: QueueWireClient, queue: string): Promise<number> {
  let kept = 0;
  for (const length of [15_000, 3_000, 100, 1]) {
    for (let refused = 0; refused < 5;) {
      const body = messageBody('x'.repeat(length));
      const { status } = await queues.send({ method: 'POST', path: `/${queue}/messages`, body });
      assert.ok(status === 201 || status === 500, String(status));
      if (status === 201) kept += 1;
      else refused += 1;
      assert.ok(kept < rowsMax, 'the disk never became full');
    }
  }
  return kept;
}

/** Gets and deletes messages until none is left; returns how many were deleted. */
async function drain(queues: QueueWireClient, queue: string): Promise<number> {
  for (let deleted = 0; ;) {
    const messages = await queues.get(queue, { numofmessages: 32, visibilitytimeout: 600 });
    if (messages.length === 0) return deleted;
    for (const message of messages) {
      assert.equal((await queues.delete(queue, message)).status, 204);
      deleted += 1;
    }
  }
}

it(
  'keeps exactly the acknowledged messages when its data file cannot grow',
  costly(),
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-full-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    let server = await ServerProcess.start(directory, { fileKiBMax: 3000 });
    t.after(() => server.end('SIGKILL'));
    const queues = server.queueClient();
    const queue = await queues.newQueue('full');
    const kept = await fillQueue(queues, queue);
    assert.ok(kept > 50, `${kept} messages`);
    assert.equal(await queues.count(queue), kept);
    assert.equal((await queues.peek(queue)).length, 32);
    queues.close();
    await server.end('SIGKILL');
    server = await ServerProcess.start(directory);
    const again = server.queueClient();
    assert.equal(await again.count(queue), kept);
    assert.equal(await drain(again, queue), kept);
    await again.put(queue, 'there is space');
    again.close();
  },
);

it('deletes, starts and takes writes again on a full disk', costly(), async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-tmpfs-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    t.skip('a small file system cannot be mounted without being root');
    return;
  }
  try {
    for (const flags of sampled([[], ['--workers', '2']], 1)) {
      await fillAndFree(directory, flags);
      await rm(join(directory, 'data'), { recursive: true });
    }
  } finally {
    execFileSync('umount', ['-l', directory]);
  }
});

async function fillAndFree(directory: string, flags: readonly string[]): Promise<void> {
  const filler = join(directory, 'filler');
  let server = await ServerProcess.start(join(directory, 'data'), { flags });
  try {
    await writeFile(filler, Buffer.alloc(12 << 20));
    const client = server.client();
    await client.send({ method: 'POST', path: '/Tables', body: '{"TableName":"full"}' });
    const kept = await fillUp(client);
    await assertServes(client, kept);
    const key = `PartitionKey='p${Number(kept.pop()) % 3}',RowKey='${kept.length}'`;
    const deletion = { method: 'DELETE', path: `/full(${key})`, headers: { 'If-Match': '*' } };
    assert.equal((await client.send(deletion)).status, 204, 'a reserve is left for it');
    client.close();
    await server.end('SIGKILL');
    server = await ServerProcess.start(join(directory, 'data'), { flags });
    const again = server.client();
    await assertServes(again, kept);
    await rm(filler);
    const index = kept.length + 1;
    await insertsAgain(again, index);
    await assertServes(again, [...kept, String(index)]);
    again.close();
  } finally {
    await server.end('SIGKILL');
  }
}

/** The data file is tried again twice a second, and no restart is needed. */
async function insertsAgain(client: WireClient, index: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const response = await insert(client, index);
    if (response.status === 204) return;
    assertWriteRefused(response);
    await pause(100);
  }
  assert.fail('the server takes no writes again');
}

/** What a blob must have: the bytes of all writes that were acknowledged. */
type Stored = Map<string, Buffer>;

interface BlobWrite {
  readonly path: string;
  readonly query?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The bytes of the blob afterwards. Absent: it stays as it is. */
  readonly after?: Buffer;
}

/** Sends a write, and notes what it made. Returns false when the disk had no room for it. */
async function wrote(blobs: BlobWireClient, stored: Stored, write: BlobWrite): Promise<boolean> {
  const { path, query = '', headers, body, after } = write;
  const response = await blobs.send({ method: 'PUT', path: `${path}${query}`, headers, body });
  if (response.status === 201) {
    if (after !== undefined) stored.set(path, after);
    return true;
  }
  assertStatus(response, 500, 'InternalError');
  return false;
}

const typed = (type: string) => ({ 'x-ms-blob-type': type });
const pagesMebibytes = 16;

/** The writes that fill a disk, of each kind and of several sizes, in turns. */
function* blobWrites(folder: string, stored: Stored): Generator<BlobWrite> {
  const none = Buffer.alloc(0);
  const log = `${folder}/log`;
  const pages = `${folder}/pages`;
  yield { path: log, headers: typed('AppendBlob'), body: none, after: none };
  const length = pagesMebibytes << 20;
  const size = { 'x-ms-blob-content-length': String(length) };
  yield {
    path: pages,
    headers: { ...typed('PageBlob'), ...size },
    body: none,
    after: Buffer.alloc(length),
  };
  for (let round = 0; round < rowsMax; round += 1) {
    const small = Buffer.alloc(20_000, round);
    const large = Buffer.alloc(300_000, round);
    yield {
      path: `${folder}/inline-${round}`,
      headers: typed('BlockBlob'),
      body: small,
      after: small,
    };
    yield {
      path: `${folder}/whole-${round}`,
      headers: typed('BlockBlob'),
      body: large,
      after: large,
    };
    const path = `${folder}/blocks-${round}`;
    yield { path, query: '?comp=block&blockid=AAAA', headers: {}, body: large };
    const list = Buffer.from('<BlockList><Uncommitted>AAAA</Uncommitted></BlockList>');
    yield { path, query: '?comp=blocklist', headers: {}, body: list, after: large };
    const before = stored.get(log) ?? none;
    const query = '?comp=appendblock';
    yield { path: log, query, headers: {}, body: small, after: Buffer.concat([before, small]) };
    const start = (round % (length / 2 ** 18)) * 2 ** 18;
    const page = Buffer.alloc(2 ** 18, round + 1);
    const after = Buffer.from(stored.get(pages) ?? Buffer.alloc(length));
    page.copy(after, start);
    const range = `bytes=${start}-${start + page.length - 1}`;
    const headers = { 'x-ms-page-write': 'update', 'x-ms-range': range };
    yield { path: pages, query: '?comp=page', headers, body: page, after };
  }
}

async function assertBlobs(blobs: BlobWireClient, folder: string, stored: Stored): Promise<void> {
  const list = `${folder}?restype=container&comp=list`;
  const { text } = await blobs.expect(200, { path: list });
  const names = [...text.matchAll(/<Name>([^<]+)</g)].map(([, name]) => `${folder}/${name}`);
  assert.deepEqual(names.toSorted(), [...stored.keys()].toSorted());
  for (const [path, bytes] of stored) {
    assert.ok((await blobs.expect(200, { path })).body.equals(bytes), path);
  }
}

it(
  'keeps exactly the acknowledged blobs on a full disk, and takes others when some are deleted',
  costly(),
  async (t) => {
    const uid = process.getuid?.() ?? 0;
    const disk = await mountSmallDisk(24, uid);
    if (disk === undefined) {
      t.skip('a small file system cannot be mounted without being root');
      return;
    }
    await using _ = disk;
    const directory = join(disk.folder, 'data');
    let server = await ServerProcess.start(directory);
    t.after(() => server.end('SIGKILL'));
    const blobs = server.blobClient();
    const folder = `/${await blobs.newContainer()}`;
    const stored: Stored = new Map();
    let [refused, isStaged] = [0, false];
    for (const write of blobWrites(folder, stored)) {
      // A list of a block that was refused is not right, and is refused for that.
      if (write.query === '?comp=blocklist' && !isStaged) continue;
      const isWritten = await wrote(blobs, stored, write);
      if (write.after === undefined) isStaged = isWritten;
      if (!isWritten) refused += 1;
      if (refused >= 12) break;
    }
    assert.ok(stored.size > 5, `${stored.size} blobs`);
    assert.equal(refused, 12, 'the disk became full');
    await assertBlobs(blobs, folder, stored);
    const whole = [...stored.keys()].find((path) => path.includes('/whole-')) ?? '';
    await blobs.expect(202, { method: 'DELETE', path: whole });
    stored.delete(whole);
    await assertBlobs(blobs, folder, stored);
    blobs.close();
    await server.end('SIGKILL');
    server = await ServerProcess.start(directory);
    const again = server.blobClient();
    await assertBlobs(again, folder, stored);
    await disk.grow(64);
    const body = Buffer.alloc(300_000, 1);
    const late = { path: `${folder}/late`, headers: typed('BlockBlob'), body, after: body };
    for (let attempt = 0; attempt < 100; attempt += 1) {
      if (await wrote(again, stored, late)) break;
      await pause(100);
    }
    assert.ok(stored.has(late.path), 'the server takes writes again');
    await assertBlobs(again, folder, stored);
    again.close();
  },
);

it(
  'refuses content that the disk has no room for, says why, and serves the rest',
  costly(),
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-full-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const server = await ServerProcess.start(directory, { fileKiBMax: 3000 });
    t.after(() => server.end('SIGKILL'));
    const blobs = server.blobClient();
    const path = `/${await blobs.newContainer()}/a`;
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    const put = (mebibytes: number) =>
      blobs.send({ method: 'PUT', path, headers, body: Buffer.alloc(mebibytes << 20, mebibytes) });
    assert.equal((await put(1)).status, 201);
    for (let attempt = 0; attempt < 2; attempt += 1)
      assertStatus(await put(4), 500, 'InternalError');
    assert.ok((await blobs.expect(200, { path })).body.equals(Buffer.alloc(1 << 20, 1)));
    assert.equal((await put(2)).status, 201);
    blobs.close();
    const { code, output } = await server.end('SIGTERM');
    assert.equal(code, 0);
    assert.match(
      output,
      /"reason":"The content could not be written: EFBIG[^"]*","operation":"PutBlob"/,
    );
    assert.doesNotMatch(output, /"stack"/);
  },
);

it('says what to do where the disk takes no journal at the start', costly(), async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-no-journal-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const flags = ['--journal', 'on'];
  const failure = await ServerProcess.start(directory, { fileKiBMax: 128, flags }).then(
    () => assert.fail('started'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StartFailure);
  assert.equal(failure.exit.code, 1);
  assert.match(failure.exit.output, /error: The data directory \S+ cannot be used: .*EFBIG/);
  assert.match(failure.exit.output, /Raise the limit on the size of files\. Then start again/);
  const server = await ServerProcess.start(directory, { flags });
  assert.equal((await server.end('SIGTERM')).code, 0);
});
