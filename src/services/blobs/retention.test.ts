import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  assertTidy,
  at,
  body,
  collected,
  container,
  entriesOfBlobs,
  large,
  microsPerDay,
  notFound,
  openBlobs,
  plain,
  readAll,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import type { DeleteRetention } from '../../model/resources/service-properties.js';
import type { BlobService } from './blob-service.js';

const address = at('b');

async function setUp(engine: EngineName, t: TestContext, policy: Partial<DeleteRetention> = {}) {
  const clock = manualClock();
  const current = {
    policy: { enabled: true, days: 7, allowPermanentDelete: false, ...policy } as DeleteRetention,
  };
  const retention = () => Promise.resolve(current.policy);
  const world = await openBlobs(await openTestStore(engine, t, clock), clock, { retention });
  const entries = (await entriesOfBlobs(world.store)).length;
  return { ...world, current, entries };
}

const put = (blobs: BlobService, bytes: Buffer | string) =>
  blobs.putBlockBlob(address, plain, { body: body(bytes) });

/** The names in a list, `~` behind the deleted, with the days that are left; `@` is a snapshot. */
async function listed(blobs: BlobService, deleted = true): Promise<string> {
  const query = { snapshots: true, uncommitted: true, deleted, limit: 100 };
  const { items } = await blobs.listBlobs({ account, container }, query);
  return Array.from(items, (item) => {
    assert.ok(item.kind === 'blob');
    const days = item.deleted === undefined ? '' : `~${item.deleted.remainingDays}`;
    return `${item.snapshotMicros === undefined ? '' : '@'}${item.name}${days}`;
  }).join(' ');
}

async function expire(world: Awaited<ReturnType<typeof setUp>>, days: number): Promise<void> {
  world.clock.advanceMicros(days * microsPerDay + 60_000_000);
  await settle(world);
  await assertTidy(world);
}

for (const engine of engineNames) {
  describe(`deleted blobs that are kept over ${engine}`, () => {
    it('are found in lists alone, and come back as they were', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      const { modifiedMicros } = await put(blobs, large);
      const { snapshotMicros } = await blobs.snapshotBlob(address);
      const both = { snapshots: 'include' } as const;
      assert.deepEqual(await blobs.deleteBlob(address, both), { isPermanent: false });
      assert.equal(await listed(blobs), '@b~7 b~7');
      assert.equal(await listed(blobs, false), '');
      await assert.rejects(blobs.getProperties(address), notFound);
      await assert.rejects(blobs.getProperties({ ...address, snapshotMicros }), notFound);
      await assert.rejects(blobs.deleteBlob(address), notFound);
      await assert.rejects(blobs.setMetadata(address, []), notFound);
      await settle(world);
      await assertTidy(world);
      await blobs.undeleteBlob(address);
      assert.equal(await listed(blobs), '@b b');
      assert.ok((await readAll(blobs, address)).equals(large));
      assert.equal((await blobs.getProperties(address)).modifiedMicros, modifiedMicros);
      await blobs.undeleteBlob(address);
      await expire(world, 8);
      assert.equal(await listed(blobs), '@b b', 'the retention ended with the deletion');
    });

    it('go with their content when their time is over', async (t) => {
      const world = await setUp(engine, t);
      const { blobs, content } = world;
      await put(blobs, large);
      await blobs.snapshotBlob(address);
      await blobs.deleteBlob(address, { snapshots: 'only' });
      world.clock.advanceMicros(microsPerDay);
      await blobs.deleteBlob(address);
      assert.equal(await listed(blobs), '@b~6 b~7');
      await expire(world, 6);
      assert.equal(await listed(blobs), 'b~1');
      assert.ok(content.ids.size > 0);
      await expire(world, 1);
      assert.equal(await listed(blobs), '');
      assert.equal(content.ids.size, 0, 'the bytes are gone');
      assert.equal((await entriesOfBlobs(world.store)).length, world.entries);
      await assert.rejects(blobs.undeleteBlob(address), notFound);
    });

    it('leave what was overwritten as deleted snapshots, whatever writes', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await put(blobs, 'one');
      await put(blobs, large);
      await blobs.putBlock(address, { id: Buffer.from('a') }, { body: body(sample(40_000)) });
      const of = (source: 'uncommitted' | 'committed') => ({ source, id: Buffer.from('a') });
      await blobs.putBlockList(address, { ...plain, blocks: [of('uncommitted')] });
      await blobs.putBlockList(address, { ...plain, blocks: [of('committed'), of('committed')] });
      assert.equal(await listed(blobs), '@b~7 @b~7 @b~7 b');
      assert.equal(await listed(blobs, false), 'b');
      await blobs.deleteBlob(address);
      await blobs.putAppendBlob(address, plain);
      await blobs.appendBlock(address, { body: body('x') });
      await blobs.putPageBlob(address, { ...plain, bytes: 1024, sequenceNumber: 0n });
      assert.equal(await listed(blobs), '@b~7 @b~7 @b~7 @b~7 @b~7 b');
      await settle(world);
      await assertTidy(world);
      await blobs.undeleteBlob(address);
      const query = { snapshots: true, uncommitted: false, deleted: false, limit: 100 };
      const { items } = await blobs.listBlobs({ account, container }, query);
      const lengths: number[] = [];
      for (const item of items) {
        assert.ok(item.kind === 'blob');
        if (item.snapshotMicros === undefined) continue;
        const { snapshotMicros } = item;
        lengths.push(
          (await collected((await blobs.getBlob({ ...address, snapshotMicros })).body)).length,
        );
      }
      assert.deepEqual(lengths, [3, 100_000, 40_000, 80_000, 1]);
      await blobs.deleteBlob(address, { snapshots: 'include' });
      await expire(world, 7);
      assert.equal((await entriesOfBlobs(world.store)).length, world.entries);
      assert.equal(world.content.ids.size, 0);
    });

    it('come back in the place of blocks that were put since', async (t) => {
      const world = await setUp(engine, t);
      const { blobs, clock } = world;
      await blobs.putPageBlob(address, { ...plain, bytes: 1024, sequenceNumber: 0n });
      await blobs.putPages(address, { start: 0, end: 512 }, { body: body(sample(512)) });
      const { snapshotMicros } = await blobs.snapshotBlob(address);
      await blobs.putPages(address, { start: 0, end: 512 }, { body: body(sample(512, 1)) });
      await blobs.deleteBlob(address, { snapshots: 'include' });
      await blobs.putBlock(address, { id: Buffer.from('a') }, { body: body('new') });
      assert.equal(await listed(blobs), '@b~7 @b~7 b');
      await blobs.undeleteBlob(address);
      assert.equal(await listed(blobs), '@b b');
      const found = (await readAll(blobs, address)).subarray(0, 512);
      assert.ok(found.equals(sample(512, 1)));
      await blobs.putPages(address, { start: 0, end: 512 }, { body: body(sample(512, 2)) });
      const old = await collected((await blobs.getBlob({ ...address, snapshotMicros })).body);
      assert.ok(old.subarray(0, 512).equals(sample(512)));
      await blobs.deleteBlob(address, { snapshots: 'include' });
      clock.advanceMicros(microsPerDay);
      await blobs.putBlock(address, { id: Buffer.from('a') }, { body: body('new') });
      await expire(world, 6);
      assert.equal(await listed(blobs), 'b', 'the blocks are left');
      await assert.rejects(blobs.undeleteBlob(address), notFound);
    });

    it('come back after blocks under their name were deleted or have expired', async (t) => {
      const world = await setUp(engine, t, { days: 30 });
      const { blobs } = world;
      const ends = [() => blobs.deleteBlob(address), () => expire(world, 7)];
      for (const end of ends) {
        await put(blobs, large);
        const { modifiedMicros } = await blobs.getProperties(address);
        await blobs.deleteBlob(address);
        await blobs.putBlock(address, { id: Buffer.from('a') }, { body: body('new') });
        await end();
        assert.match(await listed(blobs), /^@b~\d+$/);
        await blobs.undeleteBlob(address);
        assert.equal(await listed(blobs), 'b');
        assert.ok((await readAll(blobs, address)).equals(large));
        assert.equal((await blobs.getProperties(address)).modifiedMicros, modifiedMicros);
        await settle(world);
        await assertTidy(world);
        await blobs.deleteBlob(address);
        await expire(world, 31);
        assert.equal((await entriesOfBlobs(world.store)).length, world.entries);
      }
    });

    it('are no blob that comes back when they were snapshots alone', async (t) => {
      const { blobs, current } = await setUp(engine, t);
      await put(blobs, 'one');
      await put(blobs, 'two');
      await blobs.deleteBlob({ ...address, ...(await blobs.snapshotBlob(address)) });
      current.policy = { enabled: false, allowPermanentDelete: false };
      await blobs.deleteBlob(address);
      await blobs.putBlock(address, { id: Buffer.from('a') }, { body: body('new') });
      assert.equal(await listed(blobs), '@b~7 @b~7 b');
      await assert.rejects(blobs.undeleteBlob(address), notFound);
    });

    it('are restored beside a list of blocks that took their name', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await put(blobs, large);
      await blobs.deleteBlob(address);
      await blobs.putBlock(address, { id: Buffer.from('a') }, { body: body('new') });
      assert.equal(await listed(blobs), '@b~7 b');
      const blocks = [{ source: 'latest', id: Buffer.from('a') } as const];
      await blobs.putBlockList(address, { ...plain, blocks });
      await blobs.undeleteBlob(address);
      assert.equal(await listed(blobs), '@b b');
      assert.equal((await readAll(blobs, address)).toString(), 'new');
      await settle(world);
      await assertTidy(world);
    });

    it('keep the pages that snapshots of a page blob see', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      const write = (seed: number) =>
        blobs.putPages(address, { start: 0, end: 65_536 }, { body: body(sample(65_536, seed)) });
      await blobs.putPageBlob(address, { ...plain, bytes: 65_536, sequenceNumber: 0n });
      await write(1);
      const { snapshotMicros } = await blobs.snapshotBlob(address);
      await blobs.deleteBlob({ ...address, snapshotMicros });
      await write(2);
      await settle(world);
      await assertTidy(world);
      await blobs.undeleteBlob(address);
      const snapshot = { ...address, snapshotMicros };
      const snapshotBytes = async () => collected((await blobs.getBlob(snapshot)).body);
      assert.ok((await snapshotBytes()).equals(sample(65_536, 1)));
      await blobs.deleteBlob(snapshot);
      await blobs.deleteBlob(address);
      await expire(world, 3);
      await blobs.undeleteBlob(address);
      await blobs.deleteBlob(snapshot);
      await expire(world, 7);
      assert.equal(await listed(blobs), 'b');
      await write(3);
      await settle(world);
      await assertTidy(world);
      assert.equal(world.content.ids.size, 1, 'what the snapshot saw is gone');
      await blobs.deleteBlob({ ...address, ...(await blobs.snapshotBlob(address)) });
      await expire(world, 7);
      await write(4);
      await settle(world);
      await assertTidy(world);
      assert.equal(world.content.ids.size, 1, 'what only the blob saw is gone');
    });

    it('outlast a policy that is switched off, while later deletions are for good', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await put(blobs, large);
      await put(blobs, 'two');
      world.current.policy = { enabled: false, allowPermanentDelete: false };
      assert.deepEqual(await blobs.deleteBlob(address), { isPermanent: true });
      assert.equal(await listed(blobs), '@b~7');
      await assert.rejects(blobs.undeleteBlob(address), notFound);
      await put(blobs, 'three');
      await blobs.undeleteBlob(address);
      assert.equal(await listed(blobs), '@b b');
      await settle(world);
      await assertTidy(world);
    });

    it('end before their time where the policy allows it, snapshots alone', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await put(blobs, large);
      const { snapshotMicros } = await blobs.snapshotBlob(address);
      const snapshot = { ...address, snapshotMicros };
      const end = (which: typeof snapshot | typeof address) =>
        blobs.deleteBlob(which, { permanently: true });
      const refused = { code: 'BlobSnapshotNotSoftDeleted' };
      await assert.rejects(end(snapshot), refused);
      await blobs.deleteBlob(snapshot);
      await assert.rejects(end(snapshot), refused, 'the policy does not allow it');
      world.current.policy = { enabled: true, days: 7, allowPermanentDelete: true };
      assert.deepEqual(await end(snapshot), { isPermanent: true });
      await assert.rejects(end(snapshot), notFound);
      await assert.rejects(end(address), refused);
      assert.equal(await listed(blobs), 'b');
      await settle(world);
      await assertTidy(world);
    });

    it('are found by their tags again when they are back', async (t) => {
      const { blobs, clock } = await setUp(engine, t);
      const tagged = { ...plain, tags: [['k', 'v']] as const };
      await blobs.putBlockBlob(address, tagged, { body: body('x') });
      await blobs.deleteBlob(address);
      clock.advanceMicros(2 * 60 * 60 * 1_000_000);
      const query = {
        container: undefined,
        comparisons: [{ kind: 'comparison', tag: 'k', operator: '=', value: 'v' }],
      } as const;
      const found = async () =>
        (await blobs.findInContainer({ account, container }, query, { limit: 10 })).blobs.length;
      assert.equal(await found(), 0);
      await blobs.undeleteBlob(address);
      assert.equal(await found(), 1);
    });

    it('go with their container', async (t) => {
      const world = await setUp(engine, t);
      await put(world.blobs, large);
      await world.blobs.deleteBlob(address);
      await world.blobs.containers.delete({ account, container }, {});
      await settle(world);
      assert.equal(world.content.ids.size, 0);
    });
  });
}
