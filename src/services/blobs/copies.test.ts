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
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobService } from './blob-service.js';
import type { CopyRequest } from './copies.js';
import type { SnapshotAddress } from './types.js';
import { costly } from '../../../test/support/run-length.js';

const plain = { headers: { contentType: 'text/plain' }, metadata: [['a', 'b']] as const, tags: [] };
const lease = '11111111-0000-4000-8000-000000000000';
const target = at('target');

const code = (wanted: string) => (error: unknown) =>
  error instanceof StorageError && error.code === wanted;

async function setUp(engine: EngineName, t: TestContext) {
  const clock = manualClock();
  return openBlobs(await openTestStore(engine, t, clock), clock);
}

const copy = (
  blobs: BlobService,
  source: SnapshotAddress,
  options: Partial<CopyRequest> = {},
  access = {},
) => blobs.copyBlob(target, { source, sourceUrl: 'http://s/c/b', tags: [], ...options }, access);

async function putBlocks(blobs: BlobService, count: number): Promise<Buffer> {
  const address = at('source');
  const parts = Array.from({ length: count }, (_, index) =>
    sample(index % 3 === 0 ? 40_000 : 100, index),
  );
  const ids = parts.map((_, index) => Buffer.from(String(index).padStart(4, '0')));
  for (const [index, part] of parts.entries()) {
    await blobs.putBlock(address, { id: ids[index] ?? Buffer.alloc(0) }, { body: body(part) });
  }
  const blocks = [...ids, ...ids.slice(0, 1)].map((id) => ({ source: 'latest' as const, id }));
  await blobs.putBlockList(address, { ...plain, blocks });
  return Buffer.concat([...parts, ...parts.slice(0, 1)]);
}

for (const engine of engineNames) {
  describe(`copies of blobs over ${engine}`, () => {
    it('have the bytes, blocks and properties, and outlive their sources', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      const bytes = await putBlocks(blobs, 9);
      const { copyId } = await copy(blobs, at('source'));
      const listed = await blobs.getBlockList(at('source'), 'committed');
      assert.deepEqual(
        (await blobs.getBlockList(target, 'committed')).blocks.committed,
        listed.blocks.committed,
      );
      await settle(world);
      await assertTidy(world);
      await blobs.deleteBlob(at('source'));
      await settle(world);
      await assertTidy(world);
      assert.ok((await readAll(blobs, target)).equals(bytes));
      const shown = await blobs.getProperties(target);
      assert.deepEqual([shown.headers.contentType, shown.metadata], ['text/plain', [['a', 'b']]]);
      assert.deepEqual(
        [shown.copy?.id, shown.copy?.status, shown.copy?.bytesDone],
        [copyId, 'success', bytes.length],
      );
      await blobs.deleteBlob(target);
      await settle(world);
      assert.equal(world.content.ids.size, 0);
    });

    it('tell of each piece, whatever the time that all of them take', async (t) => {
      const { blobs } = await setUp(engine, t);
      await putBlocks(blobs, 9);
      const size = 65_536;
      const page = at('pages');
      await blobs.putPageBlob(page, { ...plain, bytes: size, sequenceNumber: 0n });
      for (const start of [0, 512, 40_960]) {
        const pages = { body: body(sample(512, start)) };
        await blobs.putPages(page, { start, end: start + 512 }, pages);
      }
      const { snapshotMicros } = await blobs.snapshotBlob(page);
      const snapshot = { ...page, snapshotMicros };
      let pieces = 0;
      const onPiece = () => (pieces += 1);
      const told = async (work: Promise<unknown>): Promise<number> => {
        pieces = 0;
        await work;
        return pieces;
      };
      assert.equal(await told(copy(blobs, at('source'), { onPiece })), 9);
      const sourceUrl = 'http://s/c/b?snapshot=2020-01-01T00:00:00.0000000Z';
      const asked = { source: snapshot, sourceUrl, onPiece };
      assert.equal(await told(blobs.copyIncrementally(at('increment'), asked)), 3);
    });

    it('of a snapshot promote it, also over the blob itself', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await blobs.putBlockBlob(target, plain, { body: body(sample(40_000, 1)) });
      const { snapshotMicros } = await blobs.snapshotBlob(target);
      await blobs.putBlockBlob(target, plain, { body: body('new') });
      await copy(blobs, { ...target, snapshotMicros }, { metadata: [['c', 'd']] });
      assert.ok((await readAll(blobs, target)).equals(sample(40_000, 1)));
      assert.deepEqual((await blobs.getProperties(target)).metadata, [['c', 'd']]);
      await copy(blobs, target);
      assert.ok((await readAll(blobs, target)).equals(sample(40_000, 1)));
      await settle(world);
      await assertTidy(world);
    });

    it('of append and page blobs go on by themselves', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await blobs.putAppendBlob(at('log'), plain);
      for (let index = 0; index < 7; index += 1) {
        await blobs.appendBlock(at('log'), { body: body(`${index}`) });
      }
      await blobs.sealAppendBlob(at('log'));
      await copy(blobs, at('log'), { isSealed: false });
      await blobs.appendBlock(target, { body: body('x') });
      assert.equal((await readAll(blobs, target)).toString(), '0123456x');
      assert.equal((await readAll(blobs, at('log'))).toString(), '0123456');
      await blobs.deleteBlob(target);

      const disk = at('disk');
      await blobs.putPageBlob(disk, { ...plain, bytes: 102_400, sequenceNumber: 3n });
      const write = (address: typeof disk, page: number, count: number, seed: number) =>
        blobs.putPages(
          address,
          { start: page * 512, end: (page + count) * 512 },
          { body: body(sample(count * 512, seed)) },
        );
      await write(disk, 0, 100, 1);
      await write(disk, 20, 4, 2);
      await blobs.snapshotBlob(disk);
      await write(disk, 60, 4, 3);
      const before = await readAll(blobs, disk);
      await copy(blobs, disk);
      await write(disk, 0, 200, 4);
      await write(target, 199, 1, 5);
      const wanted = Buffer.from(before);
      sample(512, 5).copy(wanted, 199 * 512);
      assert.ok((await readAll(blobs, target)).equals(wanted));
      assert.equal((await blobs.getProperties(target)).sequenceNumber, 3n);
      await settle(world);
      await assertTidy(world);
    });

    it('are of one moment while the source is written', costly(), async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      const disk = at('disk');
      await blobs.putPageBlob(disk, { ...plain, bytes: 51_200, sequenceNumber: 0n });
      const writer = (async () => {
        for (let seed = 1; seed < 120; seed += 1) {
          const bytes = Buffer.alloc(51_200, seed);
          await blobs.putPages(disk, { start: 0, end: 51_200 }, { body: body(bytes) });
        }
      })();
      for (let round = 0; round < 5; round += 1) {
        const copied = await copy(blobs, disk).catch((error: unknown) => error);
        if (copied instanceof Error) continue;
        const bytes = await collected((await blobs.getBlob(target)).body);
        assert.ok(
          bytes.every((byte) => byte === bytes[0]),
          'one write',
        );
      }
      await writer;
      await settle(world);
      await assertTidy(world);
    });

    it('are refused where the page says so, and leave nothing', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await assert.rejects(copy(blobs, at('source')), code('BlobNotFound'));
      await blobs.putBlockBlob(at('source'), plain, { body: body(sample(40_000)) });
      const none = { sourceConditions: { ifMatch: [1] } };
      await assert.rejects(copy(blobs, at('source'), none), code('SourceConditionNotMet'));
      const small = { blockBytesMax: 39_999 };
      await assert.rejects(copy(blobs, at('source'), small), code('CannotVerifyCopySource'));
      await blobs.putAppendBlob(target, plain);
      await assert.rejects(copy(blobs, at('source')), code('InvalidBlobType'));
      await blobs.putBlockBlob(target, plain, { body: body('x') });
      const conditions = { conditions: { ifNoneMatch: 'any' as const } };
      await assert.rejects(copy(blobs, at('source'), {}, conditions), code('BlobAlreadyExists'));
      await blobs.leaseBlob(target, {
        kind: 'acquire',
        duration: { seconds: 60 },
        proposedId: lease,
      });
      await assert.rejects(copy(blobs, at('source')), code('LeaseIdMissing'));
      const held = { leaseId: lease };
      await assert.rejects(
        copy(blobs, at('source'), {}, held),
        code('InfiniteLeaseDurationRequired'),
      );
      await blobs.leaseBlob(target, {
        kind: 'acquire',
        duration: 'infinite',
        proposedId: lease,
      });
      await copy(blobs, at('source'), {}, held);
      assert.equal((await blobs.getProperties(target)).lease?.state, 'leased');
      await assert.rejects(
        blobs.abortCopy(target, { id: 'none', ...held }),
        code('NoPendingCopyOperation'),
      );
      await settle(world);
      await assertTidy(world);
    });
  });
}
