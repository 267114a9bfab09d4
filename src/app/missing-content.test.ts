import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { temporaryDirectory } from '../../test/support/cli-server.js';
import { BlobWireClient } from '../../test/wire/kit/blob-client.js';
import { createServer } from './index.js';

/** Blobs up to 32 KiB are in the key space. */
const kept = { large: 40_000, small: 100 };

it('refuses a data directory whose blobs have bytes in a folder that is not there', async () => {
  await using directory = await temporaryDirectory();
  const location = directory.path;
  await putBlob(location, kept.large);
  const folder = join(location, 'content');
  await rm(folder, { recursive: true });
  for (const isMountPoint of [false, true]) {
    if (isMountPoint) await mkdir(folder);
    await assert.rejects(startAndStop(location), {
      name: 'DataDirectoryError',
      reason: 'damaged',
      message: /content is missing or empty, but blobs have bytes there, such as .*Mount its disk/,
    });
    assert.equal(existsSync(join(folder, 'sessions')), false, String(isMountPoint));
  }
  await mkdir(join(folder, 'extents'));
  await startAndStop(location);
});

it('starts without a content folder where no blob has bytes there', async () => {
  await using directory = await temporaryDirectory();
  const location = directory.path;
  await putBlob(location, kept.small);
  await rm(join(location, 'content'), { recursive: true });
  await putBlob(location, kept.large);
});

async function startAndStop(location: string): Promise<void> {
  const server = await createServer({ location });
  await server.close();
}

async function putBlob(location: string, length: number): Promise<void> {
  const server = await createServer({ location });
  const client = BlobWireClient.of(server);
  try {
    await client.send({ method: 'PUT', path: '/pictures?restype=container' });
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    await client.expect(201, {
      method: 'PUT',
      path: '/pictures/cat.jpg',
      headers,
      body: Buffer.alloc(length, 'a'),
    });
  } finally {
    client.close();
    await server.close();
  }
}
