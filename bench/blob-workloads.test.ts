import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { BlobData, makeBlobWorkload, nextMarkerIn, pageBlobs } from './blob-workloads.js';
import { blobKinds, connectionsOf, serviceOf } from './kinds.js';

const target = {
  host: '127.0.0.1',
  port: 1,
  account: { name: 'a', key: createSecretKey(Buffer.from('k')) },
};

function shownBy(request: Buffer | undefined): string {
  return request?.toString('latin1', 0, 200).split(' HTTP/1.1')[0] ?? 'nothing';
}

function page(blobs: number, marker: string): Buffer[] {
  const xml = Buffer.from(`<Blobs>${'<Name>b</Name>'.repeat(blobs)}</Blobs>${marker}</E>`);
  return [xml.subarray(0, -8), xml.subarray(-8)];
}

describe('the load of blobs', () => {
  it('puts each blob once, and reads blobs from all of the container', () => {
    const data = new BlobData(100_000);
    const puts = [
      makeBlobWorkload('blob-put', target, data),
      makeBlobWorkload('blob-put', target, data),
    ];
    const paths = puts.flatMap((put) => [shownBy(put.next(0)), shownBy(put.next(1))]);
    assert.equal(new Set(paths).size, 4);
    const gets = makeBlobWorkload('blob-get', target, data);
    const read = Array.from({ length: 2000 }, () =>
      Number(/\d+$/.exec(shownBy(gets.next(0)))?.[0]),
    );
    assert.deepEqual([Math.min(...read), new Set(read).size], [0, 2000]);
    assert.ok(Math.max(...read) > 99_900);
  });

  it('walks from page to page, and begins again behind the last', () => {
    const list = makeBlobWorkload('blob-list', target, new BlobData(0));
    assert.ok('answered' in list);
    const asked = (marker: string): string =>
      `GET /a/bench?comp=list${marker}&maxresults=${pageBlobs}&restype=container`;
    assert.equal(shownBy(list.next(0)), asked(''));
    const first = page(pageBlobs, '<NextMarker>2!a=</NextMarker>');
    assert.equal(list.answered(0, 200, first, 0), 1);
    assert.equal(shownBy(list.next(0)), asked('&marker=2!a%3D'));
    assert.equal(shownBy(list.next(1)), asked(''));
    list.answered(0, 200, page(pageBlobs, '<NextMarker />'), 0);
    assert.equal(shownBy(list.next(0)), asked(''));
    assert.throws(() => nextMarkerIn(page(1, '')), /without NextMarker/);
  });

  it('fails on pages and bodies that are not whole', () => {
    const [list, download] = (['blob-list', 'blob-download'] as const).map((kind) =>
      makeBlobWorkload(kind, target, new BlobData(0)),
    );
    assert.ok(list !== undefined && 'answered' in list);
    assert.throws(() => list.answered(0, 200, page(4999, '<NextMarker/>'), 0), /of 4999 blobs/);
    assert.ok(download !== undefined && 'answered' in download);
    assert.equal(download.answered(0, 200, [], 64 << 20), 64);
    assert.throws(() => download.answered(0, 200, [], 5), /sent 5 bytes/);
    assert.throws(() => download.answered(0, 404, [Buffer.from('why')], 3), /got 404: why/);
  });

  it('puts the blocks of a connection in turn, and counts their mebibytes', () => {
    const puts = makeBlobWorkload('blob-put-block', target, new BlobData(0));
    assert.ok('answered' in puts);
    const sent = Array.from({ length: 5 }, () => shownBy(puts.next(3)));
    assert.equal(new Set(sent).size, 4);
    assert.match(sent[0] ?? '', /^PUT \/a\/bench-large\/staged-3\?blockid=.*&comp=block$/);
    assert.equal(puts.answered(0, 201, [], 0), 4);
  });

  it('has so many connections for every kind', () => {
    const connections = blobKinds.map((kind) => `${serviceOf(kind)} ${connectionsOf(kind, 32)}`);
    assert.deepEqual(connections, ['blob 32', 'blob 32', 'blob 4', 'blob 4', 'blob 4']);
    assert.equal(connectionsOf('blob-list', 1), 1);
  });
});
