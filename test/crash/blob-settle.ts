import assert from 'node:assert/strict';
import type { BlobWireClient } from '../wire/kit/blob-client.js';
import type { KnownBlob } from './blob-ledger.js';
import { crashContainer } from './blob-load.js';

const kinds = { BlockBlob: 'block', AppendBlob: 'append', PageBlob: 'page' } as const;

/**
 * Compares every blob, every snapshot and every version with what is known, and the list with all
 * blobs. Afterwards what was found counts as acknowledged.
 */
export async function settleBlobs(
  client: BlobWireClient,
  blobs: readonly KnownBlob[],
): Promise<void> {
  const names = await listedNames(client);
  for (const blob of blobs) {
    const response = await client.send({ path: blob.path });
    assert.ok([200, 404].includes(response.status), `${blob.path}: ${response.status}`);
    const type = response.header('x-ms-blob-type') as keyof typeof kinds;
    const found = response.status === 404 ? undefined : { kind: kinds[type], bytes: response.body };
    assert.equal(blob.settle(found), undefined);
    const name = blob.path.slice(crashContainer.length + 2);
    assert.equal(names.has(name), found !== undefined, `${name} in the list`);
    const { snapshots = [] } = blob.image ?? {};
    await compare(client, blob.path, 'snapshot', snapshots);
    await compare(client, blob.path, 'versionid', blob.versions);
  }
}

/**
 * The names of all blobs. A page may end early: the time for one passes quickly on a fast clock.
 */
export async function listedNames(client: BlobWireClient): Promise<Set<string>> {
  const names = new Set<string>();
  let marker = '';
  do {
    const query = `restype=container&comp=list&marker=${encodeURIComponent(marker)}`;
    const { text } = await client.expect(200, { path: `/${crashContainer}?${query}` });
    for (const [, name = ''] of text.matchAll(/<Name>([^<]+)</g)) names.add(name);
    marker = /<NextMarker>([^<]+)</.exec(text)?.[1] ?? '';
  } while (marker !== '');
  return names;
}

async function compare(
  client: BlobWireClient,
  path: string,
  parameter: 'snapshot' | 'versionid',
  moments: Iterable<readonly [time: string, bytes: Buffer]>,
): Promise<void> {
  for (const [time, bytes] of moments) {
    const query = `?${parameter}=${encodeURIComponent(time)}`;
    const { body } = await client.expect(200, { path: `${path}${query}` });
    assert.ok(body.equals(bytes), `${path}${query}`);
  }
}
