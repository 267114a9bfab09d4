import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  assertTidy,
  at,
  body,
  collected,
  openBlobs,
  readAll,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { costly } from '../../../test/support/run-length.js';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobService } from './blob-service.js';
import { pageBlobBytesMax, pageRangesPerCommitMax } from './limits.js';
import { pageBytes } from './page-blobs.js';

const address = at('disk');
const plain = { headers: {}, metadata: [], tags: [], sequenceNumber: 0n };

const code = (wanted: string) => (error: unknown) =>
  error instanceof StorageError && error.code === wanted;

async function setUp(engine: EngineName, t: TestContext) {
  const clock = manualClock();
  return openBlobs(await openTestStore(engine, t, clock), clock);
}

const pages = (first: number, count: number) => ({
  start: first * pageBytes,
  end: (first + count) * pageBytes,
});

const put = (blobs: BlobService, first: number, count: number, seed = 0) =>
  blobs.putPages(address, pages(first, count), { body: body(sample(count * pageBytes, seed)) });

for (const engine of engineNames) {
  describe(`page blobs over ${engine}`, () => {
    it('of the largest size are zeros that take no space, and are read to the end', async (t) => {
      const { blobs } = await setUp(engine, t);
      await blobs.putPageBlob(address, { ...plain, bytes: pageBlobBytesMax });
      const last = pageBlobBytesMax / pageBytes - 1;
      await put(blobs, last, 1, 7);
      const range = { first: pageBlobBytesMax - 3_000_000, last: undefined };
      const { body: read } = await blobs.getBlob(address, { range });
      const bytes = await collected(read);
      assert.ok(bytes.subarray(0, -pageBytes).equals(Buffer.alloc(3_000_000 - pageBytes)));
      assert.ok(bytes.subarray(-pageBytes).equals(sample(pageBytes, 7)));
      await assert.rejects(put(blobs, last + 1, 1), code('InvalidPageRange'));
      const tooLarge = { ...plain, bytes: pageBlobBytesMax + pageBytes };
      await assert.rejects(blobs.putPageBlob(address, tooLarge), code('InvalidInput'));
    });

    it('free what only a deleted snapshot saw, also when it is overwritten later', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await blobs.putPageBlob(address, { ...plain, bytes: 200 * pageBytes });
      await put(blobs, 0, 100, 1);
      await put(blobs, 100, 50, 1);
      const { snapshotMicros: older } = await blobs.snapshotBlob(address);
      await put(blobs, 50, 20, 2);
      const { snapshotMicros: newer } = await blobs.snapshotBlob(address);
      for (const [index, snapshotMicros] of [newer, older].entries()) {
        await blobs.deleteBlob({ ...address, snapshotMicros });
        await settle(world);
        await put(blobs, 10 + 100 * index, 20, 3);
        await settle(world);
        await assertTidy(world);
      }
    });

    it('are cleared however many ranges they have', costly(), async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      const count = engine === 'memory' ? pageRangesPerCommitMax + 10 : 50;
      await blobs.putPageBlob(address, { ...plain, bytes: count * pageBytes });
      for (let first = 0; first < count; first += 1) await put(blobs, first, 1, first);
      const { modifiedMicros } = await blobs.getProperties(address);
      const conditions = { ifMatch: [modifiedMicros] };
      await blobs.clearPages(address, pages(1, count - 2), { conditions });
      const { ranges } = await blobs.getPageRanges(address);
      assert.deepEqual(
        ranges.map(({ first }) => first / pageBytes),
        [0, count - 1],
      );
      await settle(world);
      await assertTidy(world);
    });

    it('check sequence numbers, and change them as they are told', async (t) => {
      const { blobs } = await setUp(engine, t);
      await blobs.putPageBlob(address, { ...plain, bytes: 1024, sequenceNumber: 5n });
      const write = (sequence: object) =>
        blobs.putPages(address, pages(0, 1), { body: body(sample(pageBytes)), sequence });
      for (const sequence of [{ lessOrEqual: 5n }, { less: 6n }, { equal: 5n }]) {
        assert.equal((await write(sequence)).sequenceNumber, 5n);
      }
      for (const sequence of [{ lessOrEqual: 4n }, { less: 5n }, { equal: 6n }]) {
        await assert.rejects(write(sequence), code('SequenceNumberConditionNotMet'));
      }
      const change = async (sequence: Parameters<BlobService['changePageBlob']>[1]['sequence']) =>
        (await blobs.changePageBlob(address, sequence === undefined ? {} : { sequence }))
          .sequenceNumber;
      assert.equal(await change({ kind: 'max', sequenceNumber: 4n }), 5n);
      assert.equal(await change({ kind: 'max', sequenceNumber: 9n }), 9n);
      assert.equal(await change({ kind: 'increment' }), 10n);
      assert.equal(await change({ kind: 'update', sequenceNumber: 1n }), 1n);
      await change({ kind: 'update', sequenceNumber: 2n ** 63n - 1n });
      await assert.rejects(change({ kind: 'increment' }), code('SequenceNumberIncrementTooLarge'));
    });

    it('grow up to what their tier holds, and change nothing beyond', async (t) => {
      const { blobs } = await setUp(engine, t);
      const holds = 32 * 2 ** 30;
      await blobs.putPageBlob(address, { ...plain, bytes: 1024, tier: { tier: 'P4' } });
      const before = await blobs.getProperties(address);
      const tooLarge = { bytes: holds + pageBytes, headers: { contentType: 'a/b' } };
      const inadequate = code('BlobTierInadequateForContentLength');
      await assert.rejects(blobs.changePageBlob(address, tooLarge), inadequate);
      assert.deepEqual(await blobs.getProperties(address), before);
      await blobs.changePageBlob(address, { bytes: holds });
      await blobs.setTier(address, 'P6');
      await blobs.changePageBlob(address, tooLarge);
      assert.equal((await blobs.getProperties(address)).bytes, holds + pageBytes);
    });

    it('refuse ranges and bodies that do not fit, and change nothing then', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await assert.rejects(put(blobs, 0, 1), code('BlobNotFound'));
      await blobs.putPageBlob(address, { ...plain, bytes: 1024 });
      for (const bounds of [
        { start: 1, end: 513 },
        { start: 0, end: 100 },
        { start: 512, end: 512 },
        { start: 512, end: 2048 },
      ]) {
        const request = { body: body(sample(pageBytes)) };
        await assert.rejects(blobs.putPages(address, bounds, request), code('InvalidPageRange'));
        await assert.rejects(blobs.clearPages(address, bounds), code('InvalidPageRange'));
      }
      for (const bytes of [0, 511, 513]) {
        const request = { body: body(sample(bytes)) };
        await assert.rejects(blobs.putPages(address, pages(0, 1), request), code('InvalidInput'));
      }
      assert.ok((await readAll(blobs, address)).equals(Buffer.alloc(1024)));
      await settle(world);
      await assertTidy(world);
    });
  });
}
