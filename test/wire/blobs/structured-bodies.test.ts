import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { buffer } from 'node:stream/consumers';
import type { BlobClient } from '@azure/storage-blob';
import { crc64 } from '../../../src/wire/checksum/crc64.js';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { assertStatus } from '../kit/errors.js';
import { officialBlobs } from '../kit/official-blobs.js';
import { costly } from '../../support/run-length.js';

// Structured bodies (blob-service §11.5), with the official client, which makes and checks them.

const started = await startServer({});
const { server } = started;
const wire = BlobWireClient.of(server);
const container = officialBlobs(server).getContainerClient('structured');
await container.create();
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

const checked = { contentChecksumAlgorithm: 'StorageCrc64' } as const;
const kibibyte = 1024;

async function download(blob: BlobClient, offset = 0, count?: number): Promise<Buffer> {
  const { readableStreamBody } = await blob.download(offset, count, checked);
  assert.ok(readableStreamBody);
  return buffer(readableStreamBody);
}

const form = 'XSM/1.0; properties=crc64';
const structured = { 'x-ms-structured-body': form };

/** `Hello World` in one segment. */
const hello = Buffer.concat([
  Buffer.from('0132000000000000000100010001000b00000000000000', 'hex'),
  Buffer.from('Hello World'),
  crc64(Buffer.from('Hello World')),
  crc64(Buffer.from('Hello World')),
]);

describe('a structured body', () => {
  it('is that of the official client, in both directions', costly(), async () => {
    const blob = container.getBlockBlobClient('whole');
    for (const bytes of [Buffer.from('Hello World'), Buffer.alloc(5_000 * kibibyte, 'abcde')]) {
      await blob.upload(bytes, bytes.length, checked);
      const { contentLength, contentMD5 } = await blob.getProperties();
      assert.equal(contentLength, bytes.length);
      assert.equal(contentMD5?.length, 16);
      assert.ok((await blob.downloadToBuffer()).equals(bytes));
      assert.ok((await download(blob)).equals(bytes));
      assert.ok((await download(blob, 2, 7)).equals(bytes.subarray(2, 9)));
    }
    await blob.upload('', 0);
    assert.equal((await download(blob)).length, 0);
  });

  it('may be a block, an appended block and pages', async () => {
    const bytes = Buffer.alloc(64 * kibibyte, 'block');
    const blocks = container.getBlockBlobClient('blocks');
    await blocks.stageBlock('AAAA', bytes, bytes.length, checked);
    await blocks.commitBlockList(['AAAA']);
    const appended = container.getAppendBlobClient('appended');
    await appended.create();
    await appended.appendBlock(bytes, bytes.length, checked);
    const pages = container.getPageBlobClient('pages');
    await pages.create(bytes.length);
    await pages.uploadPages(bytes, 0, bytes.length, checked);
    for (const blob of [blocks, appended, pages]) assert.ok((await download(blob)).equals(bytes));
  });

  it('is refused when it is damaged, and nothing is stored', async () => {
    const path = '/structured/damaged';
    const type = { 'x-ms-blob-type': 'BlockBlob' };
    const put = (body: Buffer, more: Readonly<Record<string, string>>, query = '') =>
      wire.send({ method: 'PUT', path: path + query, body, headers: { ...type, ...more } });
    const whole = { ...structured, 'x-ms-structured-content-length': '11' };
    const flipped = Buffer.from(hello);
    flipped.write('J', 23);
    assertStatus(await put(flipped, whole), 400, 'Crc64Mismatch');
    assertStatus(await put(flipped, whole, '?comp=block&blockid=AAAA'), 400, 'Crc64Mismatch');
    assertStatus(await put(hello.subarray(0, -1), whole), 400, 'InvalidInput');
    const ten = { ...structured, 'x-ms-structured-content-length': '10' };
    assertStatus(await put(hello, ten), 400, 'InvalidInput');
    assertStatus(await put(hello, structured), 400, 'MissingRequiredHeader');
    const other = { ...whole, 'x-ms-structured-body': 'XSM/2.0' };
    assertStatus(await put(hello, other), 400, 'InvalidHeaderValue');
    const md5 = { ...whole, 'Content-MD5': 'XrY7u+Ae7tCTyyK7j1rNww==' };
    assertStatus(await put(hello, md5), 400, 'InvalidHeaderValue');
    assertStatus(await put(Buffer.alloc(0), whole, '?comp=metadata'), 400, 'UnsupportedHeader');
    assertStatus(await wire.send({ path }), 404, 'BlobNotFound');
    const answer = await put(hello, whole);
    assertStatus(answer, 201);
    assert.equal(answer.header('x-ms-structured-body'), form);
    assert.equal(answer.header('x-ms-content-crc64'), 'YeJLfssylmU=');
  });

  it('is answered with the MD5 of the blob under its own name', async () => {
    await container.getBlockBlobClient('summed').upload('Hello World', 11);
    const path = '/structured/summed';
    const answer = await wire.expect(200, { path, headers: structured });
    const header = (name: string) => answer.header(name);
    assert.deepEqual(answer.body, hello);
    assert.equal(header('x-ms-structured-body'), form);
    assert.equal(header('x-ms-structured-content-length'), '11');
    assert.equal(header('content-md5'), undefined);
    assert.equal(header('x-ms-blob-content-md5'), 'sQqNsWTgdUEFt6mb5y4/5Q==');
    const range = { ...structured, Range: 'bytes=0-3', 'x-ms-range-get-content-md5': 'true' };
    const summed = await wire.send({ path, headers: range });
    assertStatus(summed, 400, 'InvalidHeaderValue');
  });
});
