import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { assertStatus } from '../kit/errors.js';
import type { WireResponse } from '../kit/response.js';

const mebibyte = 1024 * 1024;

const started = await startServer({ maxBlockMiB: 1 });
const wire = BlobWireClient.of(started.server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

function put(path: string, headers: Readonly<Record<string, string>>, bytes = 0) {
  return wire.send({ method: 'PUT', path, headers, body: Buffer.alloc(bytes) });
}

function assertTooLong(response: WireResponse): void {
  assertStatus(response, 413, 'RequestBodyTooLarge');
  assert.match(response.text, /--max-block-mib \(blobs\.maxBlockMiB\)/);
  assert.match(response.text, /<MaxLimit>1048576<\/MaxLimit>/);
}

describe('the setting for the size of a block', () => {
  it('bounds blocks that are put and appended, and names itself', async () => {
    const container = await wire.newContainer();
    const path = `/${container}/b`;
    const block = `${path}?comp=block&blockid=AAAA`;
    assertTooLong(await put(block, {}, mebibyte + 1));
    assertStatus(await put(block, {}, mebibyte), 201);
    const appended = `/${container}/a`;
    assertStatus(await put(appended, { 'x-ms-blob-type': 'AppendBlob' }), 201);
    assertTooLong(await put(`${appended}?comp=appendblock`, {}, mebibyte + 1));
    assertStatus(await put(`${appended}?comp=appendblock`, {}, mebibyte), 201);
  });

  it('bounds blocks from other blobs, and not Put Blob', async () => {
    const container = await wire.newContainer();
    const type = { 'x-ms-blob-type': 'BlockBlob' };
    const path = `/${container}/long`;
    assertStatus(await put(path, type, mebibyte + 1), 201);
    const url = `http://127.0.0.1:${started.server.blobPort}/devstoreaccount1${path}`;
    const source = { 'x-ms-copy-source': url };
    const block = `/${container}/b?comp=block&blockid=AAAA`;
    assertTooLong(await put(block, source));
    assertStatus(await put(block, { ...source, 'x-ms-source-range': 'bytes=0-99' }), 201);
    assertStatus(await put(`/${container}/copy`, { ...type, ...source }), 201);
  });
});
