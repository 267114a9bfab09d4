import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describe, it } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { connectionString, freshName } from './server.js';

const mebibyte = 1024 * 1024;
/** A large blob has so many MiB and seven bytes; a long run asks for 1,024. */
const large = Number(process.env.TABULARIUM_INTEROP_BLOB_MIB ?? '24');
const service = BlobServiceClient.fromConnectionString(connectionString);

function* largeContent() {
  for (let written = 0; written < large; written += 1) yield randomBytes(mebibyte);
  yield randomBytes(7);
}

async function digestOf(stream) {
  const hash = createHash('sha256');
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest('hex');
}

describe('a large file', () => {
  it('goes up and down in blocks of parallel workers, and by streams', async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-interop-blob-'));
    context.after(() => rm(folder, { recursive: true }));
    const container = service.getContainerClient(freshName('c'));
    await container.create();
    context.after(() => container.delete());
    const [sent, received] = [join(folder, 'sent'), join(folder, 'received')];
    await pipeline(largeContent, createWriteStream(sent));
    const digest = await digestOf(createReadStream(sent));

    const blob = container.getBlockBlobClient('file');
    const inBlocks = { blockSize: mebibyte, maxSingleShotSize: mebibyte, concurrency: 4 };
    await blob.uploadFile(sent, inBlocks);
    const { committedBlocks } = await blob.getBlockList('committed');
    assert.equal(committedBlocks.length, large + 1);
    await blob.downloadToFile(received);
    assert.equal(await digestOf(createReadStream(received)), digest);

    const streamed = container.getBlockBlobClient('stream');
    await streamed.uploadStream(createReadStream(sent), 4 * mebibyte, 4);
    const { readableStreamBody } = await streamed.download();
    assert.equal(await digestOf(readableStreamBody), digest);
  });
});
