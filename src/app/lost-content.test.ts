import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startDurableServer } from '../../test/support/start-server.js';
import { BlobWireClient } from '../../test/wire/kit/blob-client.js';

/** Blobs up to 32 KiB are in the key space. */
const bytes = { large: 100_000, small: 100 };

const sound = [200, { status: 'ok' }];
const failed = [503, { status: 'unavailable', reason: 'failed' }];

async function world() {
  const started = await startDurableServer();
  const client = BlobWireClient.of(started.server);
  const folder = join(started.location ?? '', 'content');
  await client.send({ method: 'PUT', path: '/pictures?restype=container' });
  return {
    folder,
    away: `${folder}.away`,
    errors: () => JSON.stringify(started.errors, textOfErrors),
    async health() {
      const answer = await fetch(`http://127.0.0.1:${started.server.blobPort}/healthz`);
      return [answer.status, await answer.json()];
    },
    async put(name: string, length: number) {
      const headers = { 'x-ms-blob-type': 'BlockBlob' };
      const body = Buffer.alloc(length, 'a');
      const path = `/pictures/${name}`;
      const { status } = await client.send({ method: 'PUT', path, headers, body });
      return status;
    },
    async get(name: string) {
      return (await client.send({ method: 'GET', path: `/pictures/${name}` })).status;
    },
    async delete(name: string) {
      return (await client.send({ method: 'DELETE', path: `/pictures/${name}` })).status;
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await started[Symbol.asyncDispose]();
    },
  };
}

void describe('a server whose content folder goes away', () => {
  void it('is unhealthy and says why, and goes on when the folder is back', async () => {
    await using server = await world();
    assert.equal(await server.put('before', bytes.large), 201);
    assert.deepEqual(await server.health(), sound);
    await rename(server.folder, server.away);
    assert.deepEqual(await server.health(), failed);
    assert.deepEqual(await server.health(), failed);
    const found =
      /the bytes of large blobs cannot be stored.{1,60}ENOENT[^"]*content[^"]*put it back/g;
    assert.equal(server.errors().match(found)?.length, 1, server.errors());
    assert.equal(await server.put('meanwhile', bytes.large), 500);
    assert.match(server.errors(), /ENOENT[^"]*mkdir[^"]*content[^"]*put it back as it was/);
    assert.equal(await server.put('small', bytes.small), 201);
    assert.equal(existsSync(server.folder), false);
    await rename(server.away, server.folder);
    assert.deepEqual(await server.health(), sound);
    assert.equal(await server.put('after', bytes.large), 201);
    assert.equal(await server.get('before'), 200);
    assert.equal(await server.get('after'), 200);
  });

  void it('stays unhealthy with another folder in its place, and keeps nothing there', async () => {
    await using server = await world();
    await rm(server.folder, { recursive: true });
    await mkdir(server.folder);
    assert.deepEqual(await server.health(), failed);
    assert.equal(await server.put('lost', bytes.large), 500);
    assert.deepEqual(await readdir(server.folder), []);
    await mkdir(join(server.folder, 'sessions'));
    await mkdir(join(server.folder, 'extents'));
    assert.deepEqual(await server.health(), failed);
    assert.equal(await server.put('lost', bytes.large), 500);
    assert.match(server.errors(), /restart the server/);
    assert.equal(await server.get('lost'), 404);
  });
});

function textOfErrors(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  return `${value.message} ${value.cause instanceof Error ? value.cause.message : ''}`;
}
