import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  assertTidy,
  at,
  body,
  openBlobs,
  readAll,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { openTestStore } from '../../../test/support/stores.js';
import { deferred } from '../../base/async/deferred.js';
import { nextTurn } from '../../base/async/turns.js';
import { manualClock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { ForeignSource } from './foreign-blob.js';
import { pendingCopiesMax, pendingSecondsMax } from './limits.js';
import type { CopyState } from '../../model/blobs/properties.js';
import type { BlobService } from './blob-service.js';
import { costly } from '../../../test/support/run-length.js';

const request = { sourceUrl: 'http://s/c/b', tags: [] };
const target = at('target');

async function setUp(t: TestContext) {
  const clock = manualClock();
  return openBlobs(await openTestStore('memory', t, clock), clock);
}

/** A block blob whose bytes are `read`. */
function sourceOf(bytes: number, read: ForeignSource['read']): ForeignSource {
  const properties = { headers: {}, metadata: [], tags: [], append: undefined };
  return {
    blob: { ...properties, kind: 'block', bytes, sequenceNumber: undefined },
    blocks: () => Promise.resolve([]),
    pages: () => Promise.resolve([]),
    read,
  };
}

/** Sends some bytes, and no more. */
const stalled = sourceOf(100_000, async function* stalledBody(_bounds, signal) {
  yield sample(50_000);
  signal.throwIfAborted();
  await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')));
  });
});

async function copyOf(blobs: BlobService): Promise<CopyState | undefined> {
  return (await blobs.getProperties(target)).copy;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await nextTurn();
}

const code = (wanted: string) => (error: unknown) =>
  error instanceof StorageError && error.code === wanted;

describe('pending copies', () => {
  it('bring the bytes, whatever the pieces in which they come', async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    const content = sample(100_000);
    const source: ForeignSource = {
      ...sourceOf(content.length, () => body(content, 999)),
      blocks: () =>
        Promise.resolve([
          { id: Buffer.from('1'), bytes: 33_000 },
          { id: Buffer.from('2'), bytes: 0 },
          { id: Buffer.from('3'), bytes: 67_000 },
        ]),
    };
    await blobs.beginCopy(target, { source, request });
    await until(async () => (await copyOf(blobs))?.status === 'success');
    assert.deepEqual(await readAll(blobs, target), content);
    await settle(world);
    await assertTidy(world);
  });

  it('bring the bytes of a blob that is kept from the beginning', async (t) => {
    const clock = manualClock();
    const options = { versioning: () => true, immutability: () => true };
    const world = await openBlobs(await openTestStore('memory', t, clock), clock, options);
    const { blobs } = world;
    const content = sample(100_000);
    const source = sourceOf(content.length, () => body(content));
    const immutability = { hasLegalHold: true };
    await blobs.beginCopy(target, { source, request: { ...request, immutability } });
    await until(async () => (await copyOf(blobs))?.status === 'success');
    assert.deepEqual(await readAll(blobs, target), content);
    assert.deepEqual((await blobs.getProperties(target)).immutability, immutability);
    await assert.rejects(blobs.deleteBlob(target), code('BlobImmutableDueToLegalHold'));
    await settle(world);
    await assertTidy(world);
  });

  it('tell that they go on, and fail when their process is silent', async (t) => {
    const world = await setUp(t);
    const { blobs, beside, clock, timers } = world;
    await blobs.putBlockBlob(target, { headers: {}, metadata: [], tags: [] }, { body: body('x') });
    await blobs.beginCopy(target, { source: stalled, request });
    const nearly = (pendingSecondsMax - 10) * 1_000_000;
    clock.advanceMicros(nearly);
    await until(async () => {
      timers.fire(5_000);
      return (await copyOf(blobs))?.bytesDone === 50_000;
    });
    clock.advanceMicros(nearly);
    while ((await beside.reclaim({ entriesMax: 50 })).more);
    assert.equal((await copyOf(beside))?.status, 'pending');
    clock.advanceMicros(nearly);
    await settle(world);
    const failed = await copyOf(beside);
    assert.equal(failed?.status, 'failed');
    assert.match(failed?.description ?? '', /^500 OperationCancelled "/);
    // The process that was taken for dead learns of it, and frees what it has taken in.
    timers.fire(5_000);
    await blobs.close(5_000);
    await settle(world);
    await assertTidy(world);
    assert.equal((await readAll(blobs, target)).length, 0);
  });

  it('fail when their server closes, and are refused from then on', async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    await blobs.beginCopy(target, { source: stalled, request });
    assert.equal(await blobs.close(5_000), 0);
    assert.equal((await copyOf(blobs))?.status, 'failed');
    await assert.rejects(blobs.beginCopy(target, { source: stalled, request }), code('ServerBusy'));
    await settle(world);
    await assertTidy(world);
  });

  it('are left to the sweep by a close that they hold up', async (t) => {
    const world = await setUp(t);
    const { blobs, beside, clock, timers } = world;
    const [reached, released] = [deferred(), deferred()];
    const stuck = sourceOf(100_000, async function* stuckBody() {
      yield sample(50_000);
      reached.resolve();
      await released.promise;
    });
    await blobs.beginCopy(target, { source: stuck, request });
    await reached.promise;
    const closed = blobs.close(5_000);
    for (let step = 0; step < 4; step += 1) timers.fire(1_250);
    assert.equal(await closed, 1);
    assert.equal((await copyOf(beside))?.status, 'pending');
    clock.advanceMicros((pendingSecondsMax + 1) * 1_000_000);
    await settle(world);
    const { status, description } = (await copyOf(beside)) ?? {};
    assert.equal(status, 'failed');
    assert.match(description ?? '', /^500 OperationCancelled "/);
    released.resolve();
    assert.equal(await blobs.close(5_000), 0);
    await settle(world);
    await assertTidy(world);
  });

  it('end at the source of another process, whose blob was deleted meanwhile', async (t) => {
    const world = await setUp(t);
    const { blobs, beside, timers } = world;
    const { copyId: id } = await blobs.beginCopy(target, { source: stalled, request });
    await beside.abortCopy(target, { id });
    await beside.deleteBlob(target);
    timers.fire(5_000);
    await blobs.close(5_000);
    await assert.rejects(blobs.getProperties(target), code('BlobNotFound'));
    await settle(world);
    await assertTidy(world);
  });

  it('are bounded in number', costly(), async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    for (let count = 0; count < pendingCopiesMax; count += 1) {
      await blobs.beginCopy(at(`b${count}`), { source: stalled, request });
    }
    await assert.rejects(blobs.beginCopy(target, { source: stalled, request }), code('ServerBusy'));
    await blobs.close(5_000);
    const last = await blobs.getProperties(at(`b${pendingCopiesMax - 1}`));
    assert.equal(last.copy?.status, 'failed');
  });
});
