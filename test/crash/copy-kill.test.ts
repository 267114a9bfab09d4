import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { BlobServiceClient, type BlobClient } from '@azure/storage-blob';
import { workersOf } from '../chaos/processes.js';
import {
  connectionStringOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import { costly, isLong } from '../support/run-length.js';
import { refused } from '../wire/kit/official-blobs.js';

const mebibyte = 1024 * 1024;
/** Longer than a copy of which nobody tells anything counts as one that goes on. */
const endsWithinMs = 180_000;

/** A source whose first answer stops in the middle of it; later ones are whole. */
async function stoppingSource(t: { after(work: () => unknown): void }) {
  let isFirst = true;
  const web = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': 2 * mebibyte });
    if (isFirst) response.write(Buffer.alloc(mebibyte, 'a'));
    else response.end(Buffer.alloc(2 * mebibyte, 'b'));
    isFirst = false;
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  t.after(() => {
    web.closeAllConnections();
    web.close();
  });
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}/b`;
}

/** Polls until a copy is pending no more; returns what is told of its end. */
async function ended(blob: BlobClient): Promise<string | undefined> {
  for (const endMs = Date.now() + endsWithinMs; Date.now() < endMs;) {
    const { copyStatus, copyStatusDescription } = await blob.getProperties();
    if (copyStatus !== 'pending') return `${copyStatus}: ${copyStatusDescription}`;
    await pause(1_000);
  }
  return assert.fail(`the copy is pending after ${endsWithinMs} ms`);
}

/** A server, and a blob with a pending copy whose workers have been killed and started again. */
async function killedCopy(t: { after(work: () => unknown): void }, location: string) {
  const url = await stoppingSource(t);
  const asks = ['--copy-source', '127.0.0.1:*', '--copy-source-private'];
  const server = await startCli(['--location', location, '--workers', '2', ...asks]);
  t.after(() => server.child.kill('SIGKILL'));
  await server.printed('a worker listens', 2);
  const service = BlobServiceClient.fromConnectionString(connectionStringOf(server));
  const container = service.getContainerClient('copies');
  await container.create();
  const blob = container.getBlockBlobClient('b');
  await blob.beginCopyFromURL(url);
  for (const pid of workersOf(server.child.pid ?? 0)) process.kill(pid, 'SIGKILL');
  await server.printed('a worker listens', 4);
  assert.equal((await blob.getProperties()).copyStatus, 'pending', 'nobody knows how it ended');
  assert.deepEqual(await refused(blob.upload('x', 1)), [409, 'PendingCopyOperation']);
  return { server, blob, url };
}

async function copiesAgain(blob: BlobClient, url: string): Promise<void> {
  const again = await blob.beginCopyFromURL(url, { intervalInMs: 50 });
  assert.equal((await again.pollUntilDone()).copyStatus, 'success');
  assert.ok((await blob.downloadToBuffer()).equals(Buffer.alloc(2 * mebibyte, 'b')));
}

it('lets a client abort a copy whose workers were killed, and copy again', costly(), async (t) => {
  await using directory = await temporaryDirectory();
  const { server, blob, url } = await killedCopy(t, directory.path);
  const { copyId } = await blob.getProperties();
  assert.ok(copyId !== undefined);
  await blob.abortCopyFromURL(copyId);
  const { copyStatus, contentLength } = await blob.getProperties();
  assert.deepEqual([copyStatus, contentLength], ['aborted', 0]);
  await copiesAgain(blob, url);
  assert.equal(await stopCli(server), 0);
});

// It takes a minute of waiting: that is how long a copy may not tell that it goes on.
it('ends a copy whose workers are killed in the middle', { skip: !isLong }, async (t) => {
  await using directory = await temporaryDirectory();
  const { server, blob, url } = await killedCopy(t, directory.path);
  assert.match((await ended(blob)) ?? '', /^failed: 500 OperationCancelled/);
  await copiesAgain(blob, url);
  assert.equal(await stopCli(server), 0);
});
