import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  collected,
  container,
  entriesOfBlobs,
  isDirectory,
  md5Of,
  openBlobs,
  plain,
  readAll,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import type { Bytes } from '../../base/bytes.js';
import { manualClock } from '../../base/clock.js';
import { encodeCounter } from '../../kv/counter.js';
import type { Store } from '../../kv/store.js';
import type { BlockSource } from '../../model/blobs/block-list.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobService } from './blob-service.js';
import { blobKind, garbageRange, kindOfKey } from './keys.js';
import type { NewBlockBlob } from './types.js';
import { costly } from '../../../test/support/run-length.js';

const lease = '11111111-0000-4000-8000-000000000000';
const address = at('b');

const code = (wanted: string) => (error: unknown) =>
  error instanceof StorageError && error.code === wanted;

async function setUp(engine: EngineName, t: TestContext) {
  const clock = manualClock();
  return openBlobs(await openTestStore(engine, t, clock), clock);
}

const put = (blobs: BlobService, bytes: Buffer | string, options: Partial<NewBlockBlob> = {}) =>
  blobs.putBlockBlob(address, { ...plain, ...options }, { body: body(bytes) });

const block = (blobs: BlobService, id: string, bytes: Buffer | string) =>
  blobs.putBlock(address, { id: Buffer.from(id) }, { body: body(bytes) });

/** A list as `u1 c2 l3`: source and id. */
const list = (blobs: BlobService, text: string) =>
  blobs.putBlockList(address, { ...plain, blocks: text.split(' ').filter(Boolean).map(reference) });

function reference(text: string) {
  const sources: Record<string, BlockSource> = { u: 'uncommitted', c: 'committed', l: 'latest' };
  return { source: sources[text[0] ?? ''] ?? 'latest', id: Buffer.from(text.slice(1)) };
}

async function listed(blobs: BlobService): Promise<string> {
  const { blocks } = await blobs.getBlockList(address, 'all');
  const text = (part: typeof blocks.committed = []) =>
    part.map(({ id, bytes }) => `${Buffer.from(id).toString()}:${bytes}`).join(' ');
  return `${text(blocks.committed)} | ${text(blocks.uncommitted)}`;
}

for (const engine of engineNames) {
  describe(`block blobs over ${engine}`, () => {
    it('come back as they were put, whatever their length', async (t) => {
      const world = await setUp(engine, t);
      for (const length of [0, 1, 32_767, 32_768, 32_769, 300_000]) {
        const bytes = sample(length, length);
        const { md5, modifiedMicros } = await put(world.blobs, bytes);
        assert.deepEqual(md5, md5Of(bytes));
        assert.ok((await readAll(world.blobs, address)).equals(bytes), `${length}`);
        const properties = await world.blobs.getProperties(address);
        assert.equal(properties.bytes, length);
        assert.equal(properties.modifiedMicros, modifiedMicros);
        assert.deepEqual(Buffer.from(properties.headers.contentMd5 ?? []), md5);
        assert.equal(properties.headers.contentType, 'application/octet-stream');
      }
      await settle(world);
      await assertTidy(world);
    });

    it('are read in any range, in pieces that are not too long', async (t) => {
      const { blobs } = await setUp(engine, t);
      const bytes = sample(700_000);
      const ids = ['01', '02', '03', '04', '05', '06', '07'];
      for (const [index, id] of ids.entries()) {
        await block(blobs, id, bytes.subarray(index * 100_000, (index + 1) * 100_000));
      }
      await list(blobs, ids.map((id) => `l${id}`).join(' '));
      for (const [first, last] of [
        [0, 0],
        [99_999, 100_000],
        [100_000, 299_999],
        [123_456, 654_321],
        [600_000, undefined],
        [699_999, 1_000_000],
      ] as const) {
        const reading = await blobs.getBlob(address, { range: { first, last } });
        const end = Math.min((last ?? Infinity) + 1, bytes.length);
        assert.deepEqual([reading.start, reading.end], [first, end]);
        const found = await collected(reading.body);
        assert.ok(found.equals(bytes.subarray(first, end)), `${first} to ${last}`);
      }
      await assert.rejects(
        blobs.getBlob(address, { range: { first: 700_000, last: undefined } }),
        code('InvalidRange'),
      );
    });

    it('with thousands of blocks are read in the middle', costly(), async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      const ids = Array.from({ length: 1_300 }, (_, index) => `${10_000 + index}`);
      await Promise.all(ids.map((id) => block(blobs, id, id)));
      await list(blobs, ids.map((id) => `u${id}`).join(' '));
      const all = ids.join('');
      assert.equal((await readAll(blobs, address)).toString(), all);
      for (const first of [0, 2_559, 2_560, 2_561, 5_119, 5_120, 6_499]) {
        const reading = await blobs.getBlob(address, { range: { first, last: first + 7 } });
        const found = await collected(reading.body);
        assert.equal(found.toString(), all.slice(first, first + 8), `${first}`);
      }
      const half = ids.filter((_, index) => index % 2 === 0);
      await list(blobs, half.map((id) => `c${id}`).join(' '));
      assert.equal((await readAll(blobs, address)).toString(), half.join(''));
      await settle(world);
      await assertTidy(world);
      assert.equal((await readAll(blobs, address)).toString(), half.join(''));
    });

    it('consist of the blocks that the list names, in its order', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await block(blobs, 'a', 'AAA');
      await block(blobs, 'b', 'BB');
      await list(blobs, 'ub ua ub');
      assert.equal((await readAll(blobs, address)).toString(), 'BBAAABB');
      assert.equal(await listed(blobs), 'b:2 a:3 b:2 | ');
      await block(blobs, 'a', 'new');
      await block(blobs, 'c', 'C');
      assert.equal(await listed(blobs), 'b:2 a:3 b:2 | a:3 c:1');
      await list(blobs, 'ca la lb uc');
      assert.equal((await readAll(blobs, address)).toString(), 'AAAnewBBC');
      await settle(world);
      await assertTidy(world);
      assert.equal((await readAll(blobs, address)).toString(), 'AAAnewBBC');
      await list(blobs, '');
      assert.equal((await readAll(blobs, address)).toString(), '');
      await settle(world);
      await assertTidy(world);
    });

    it('refuse a list that names a block which is not there, and stay', async (t) => {
      const { blobs } = await setUp(engine, t);
      await block(blobs, 'a', 'A');
      for (const text of ['ca', 'ub', 'lb', 'ua cb']) {
        await assert.rejects(list(blobs, text), code('InvalidBlockList'), text);
      }
      assert.equal(await listed(blobs), ' | a:1');
      await list(blobs, 'ua');
      await assert.rejects(list(blobs, 'ua'), code('InvalidBlockList'));
    });

    it('have ids of blocks of one length', async (t) => {
      const { blobs } = await setUp(engine, t);
      await block(blobs, 'aa', '1');
      await assert.rejects(block(blobs, 'b', '1'), code('InvalidBlobOrBlock'));
      await list(blobs, 'uaa');
      await assert.rejects(block(blobs, 'b', '1'), code('InvalidBlobOrBlock'));
      await list(blobs, '');
      await block(blobs, 'b', '1');
    });

    it('lose blocks that are not committed a week after the last Put Block', async (t) => {
      const world = await setUp(engine, t);
      const { blobs, clock } = world;
      const day = 24 * 60 * 60 * 1_000_000;
      await block(blobs, 'a', sample(50_000));
      clock.advanceMicros(6 * day);
      await block(blobs, 'b', 'B');
      clock.advanceMicros(6 * day);
      await settle(world);
      assert.equal(await listed(blobs), ' | a:50000 b:1');
      clock.advanceMicros(day);
      await assert.rejects(blobs.getBlockList(address, 'all'), code('BlobNotFound'));
      await assert.rejects(list(blobs, 'la'), code('InvalidBlockList'));
      await settle(world);
      await assertTidy(world);
      assert.equal(world.content.ids.size, 0);
      await block(blobs, 'c', 'C');
      assert.equal(await listed(blobs), ' | c:1');
    });

    it('that have only blocks do not exist, and can be deleted', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await block(blobs, 'a', 'A');
      await assert.rejects(blobs.getBlob(address), code('BlobNotFound'));
      await assert.rejects(blobs.getProperties(address), code('BlobNotFound'));
      await assert.rejects(blobs.setMetadata(address, []), code('BlobNotFound'));
      await blobs.putBlockList(
        address,
        { ...plain, blocks: [] },
        { conditions: { ifNoneMatch: 'any' } },
      );
      await assert.rejects(
        blobs.putBlockList(
          address,
          { ...plain, blocks: [] },
          { conditions: { ifNoneMatch: 'any' } },
        ),
        code('BlobAlreadyExists'),
      );
      await blobs.deleteBlob(address);
      await block(blobs, 'a', 'A');
      await blobs.deleteBlob(address);
      await assert.rejects(blobs.getBlockList(address, 'all'), code('BlobNotFound'));
      await settle(world);
      await assertTidy(world);
    });

    it('keep their ETag while blocks are put, and get another with the list', async (t) => {
      const { blobs } = await setUp(engine, t);
      const { modifiedMicros } = await put(blobs, 'one');
      await block(blobs, 'a', 'A');
      await block(blobs, 'b', 'B');
      assert.equal((await blobs.getProperties(address)).modifiedMicros, modifiedMicros);
      const committed = await list(blobs, 'ua');
      assert.ok(committed.modifiedMicros > modifiedMicros);
      const { createdMicros, headers } = await blobs.getProperties(address);
      assert.equal(createdMicros, modifiedMicros);
      assert.equal(headers.contentMd5, undefined);
    });

    it('have a bounded number of uncommitted blocks, which can be replaced', async (t) => {
      const { blobs, store } = await setUp(engine, t);
      await block(blobs, 'a', 'A');
      const counter = (await entriesOfBlobs(store)).find(
        ({ key }) => !isDirectory(key) && kindOfKey(key) === blobKind.blockCount,
      );
      assert.ok(counter !== undefined);
      const value = encodeCounter(100_000);
      await store.commit({ checks: [], puts: [{ key: counter.key, value }], deletes: [] });
      await assert.rejects(block(blobs, 'b', 'B'), code('BlockCountExceedsLimit'));
      await block(blobs, 'a', 'other');
      assert.equal(await listed(blobs), ' | a:5');
    });

    it('take blocks at the same time, without a conflict', async (t) => {
      const world = await setUp(engine, t);
      const ids = Array.from({ length: 50 }, (_, index) => `${100 + index}`);
      await Promise.all(ids.map((id) => block(world.blobs, id, sample(40_000, Number(id)))));
      await list(world.blobs, ids.map((id) => `u${id}`).join(' '));
      const wanted = Buffer.concat(ids.map((id) => sample(40_000, Number(id))));
      assert.ok((await readAll(world.blobs, address)).equals(wanted));
      await settle(world);
      await assertTidy(world);
    });

    it('keep what they were when a write is refused, and its bytes are freed', async (t) => {
      const world = await setUp(engine, t);
      const { blobs, content } = world;
      await put(blobs, 'old');
      const before = await blobs.getProperties(address);
      const large = sample(100_000);
      await assert.rejects(put(blobs, large, { md5: md5Of(sample(1)) }), code('Md5Mismatch'));
      const conditions = { ifMatch: [1] };
      await assert.rejects(
        blobs.putBlockBlob(address, plain, { body: body(large), conditions }),
        code('ConditionNotMet'),
      );
      const failure = new Error('the client has left');
      async function* failing() {
        yield* body(large);
        throw failure;
      }
      await assert.rejects(
        blobs.putBlockBlob(address, plain, { body: failing() }),
        (error) => error === failure,
      );
      assert.deepEqual(await blobs.getProperties(address), before);
      assert.equal(content.ids.size, 0);
    });

    it('are written under their lease alone, which a write leaves', async (t) => {
      const { blobs, clock } = await setUp(engine, t);
      await put(blobs, 'one');
      const acquire = {
        kind: 'acquire',
        duration: { seconds: 15 },
        proposedId: lease,
      } as const;
      await blobs.leaseBlob(address, acquire);
      await assert.rejects(put(blobs, 'two'), code('LeaseIdMissing'));
      await assert.rejects(block(blobs, 'a', 'A'), code('LeaseIdMissing'));
      await assert.rejects(list(blobs, ''), code('LeaseIdMissing'));
      await assert.rejects(blobs.deleteBlob(address), code('LeaseIdMissing'));
      await blobs.putBlockBlob(address, plain, { body: body('two'), leaseId: lease });
      assert.equal((await blobs.getProperties(address)).lease?.state, 'leased');
      clock.advanceMicros(15_000_000);
      assert.equal((await blobs.getProperties(address)).lease?.state, 'expired');
      await put(blobs, 'three');
      assert.equal((await blobs.getProperties(address)).lease?.state, 'available');
      await assert.rejects(
        blobs.leaseBlob(address, { kind: 'renew', id: lease }),
        code('LeaseIdMismatchWithLeaseOperation'),
      );
    });

    it('keep their ETag when they are leased, and get another with their metadata', async (t) => {
      const { blobs } = await setUp(engine, t);
      const { modifiedMicros } = await put(blobs, 'one');
      const leased = await blobs.leaseBlob(address, { kind: 'acquire', duration: 'infinite' });
      assert.equal(leased.modifiedMicros, modifiedMicros);
      assert.equal((await blobs.getProperties(address)).modifiedMicros, modifiedMicros);
      const { leaseId = '' } = leased;
      const written = await blobs.setMetadata(address, [['k', 'v']], { leaseId });
      assert.ok(written.modifiedMicros > modifiedMicros);
      const { createdMicros, metadata } = await blobs.getProperties(address);
      assert.deepEqual(metadata, [['k', 'v']]);
      assert.equal(createdMicros, modifiedMicros);
    });

    it('are gone with their container, and so is all that they held', async (t) => {
      const world = await setUp(engine, t);
      await put(world.blobs, sample(100_000));
      await block(world.blobs, 'a', sample(100_000));
      await world.blobs.containers.delete({ account, container }, {});
      await assert.rejects(world.blobs.getBlob(address), code('ContainerNotFound'));
      await settle(world);
      assert.equal(world.content.ids.size, 0);
      await assertTidy(world);
    });
  });
}

describe('a small blob', () => {
  it('leaves no garbage when it is overwritten or deleted', async (t) => {
    const { blobs, store } = await setUp('memory', t);
    await put(blobs, 'one');
    await put(blobs, 'two');
    await blobs.deleteBlob(address);
    const { entries } = await store.range(garbageRange(), { limit: 1, bytesMax: 0 });
    assert.equal(entries.length, 0);
    assert.equal(await inlinePieces(store), 0);
  });

  it('is read again when it is overwritten between its record and its bytes', async (t) => {
    const clock = manualClock();
    const store = await openTestStore('memory', t, clock);
    let between: (() => Promise<unknown>) | undefined;
    const commits = (inner: Store): Store => ({
      getMany: (keys) => inner.getMany(keys),
      range: (range, options) => inner.range(range, options),
      commit: (batch) => inner.commit(batch),
      close: () => inner.close(),
      async get(key) {
        if (isInlinePiece(key)) {
          const action = between;
          between = undefined;
          await action?.();
        }
        return inner.get(key);
      },
    });
    const { services } = blobWorld(store, { clock, commits });
    const [blobs] = services;
    assert.ok(blobs !== undefined);
    await blobs.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
    await put(blobs, 'old', { metadata: [['k', 'old']] });
    between = () => put(blobs, 'new', { metadata: [['k', 'new']] });
    const reading = await blobs.getBlob(address);
    assert.equal(between, undefined);
    assert.equal((await collected(reading.body)).toString(), 'new');
    assert.deepEqual(reading.properties.metadata, [['k', 'new']]);
  });
});

function isInlinePiece(key: Bytes): boolean {
  return !isDirectory(key) && kindOfKey(key) === blobKind.inlinePiece;
}

async function inlinePieces(store: Store): Promise<number> {
  const entries = await entriesOfBlobs(store);
  return entries.filter(({ key }) => isInlinePiece(key)).length;
}

describe('a reader of a blob', () => {
  for (const change of ['overwritten', 'deleted', 'committed anew', 'dropped'] as const) {
    it(`gets what it began to read when the blob is ${change} and swept elsewhere`, async (t) => {
      const world = await setUp('memory', t);
      const { blobs, beside, clock, timers } = world;
      const bytes = sample(600_000);
      for (let index = 0; index < 6; index += 1) {
        await block(blobs, `${index}`, bytes.subarray(index * 100_000, (index + 1) * 100_000));
      }
      await list(blobs, 'l0 l1 l2 l3 l4 l5');
      const reading = await blobs.getBlob(address);
      const pieces = reading.body[Symbol.asyncIterator]();
      const first = await pieces.next();
      assert.ok(first.done !== true);
      const parts = [Buffer.from(first.value)];
      if (change === 'overwritten') await put(blobs, 'other');
      else if (change === 'deleted') await blobs.deleteBlob(address);
      else if (change === 'committed anew') await list(blobs, 'c5 c0');
      else await blobs.containers.delete({ account, container }, {});
      // Two graces pass; the reader renews what it needs three times in each.
      for (let third = 0; third < 6; third += 1) {
        clock.advanceMicros(10_000_000);
        timers.fire();
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
        await beside.reclaim({ entriesMax: 100 });
      }
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
        parts.push(Buffer.from(next.value));
      }
      assert.ok(Buffer.concat(parts).equals(bytes));
      assert.equal(timers.waiting, 0);
      await settle(world);
      await assertTidy(world);
    });
  }
});
