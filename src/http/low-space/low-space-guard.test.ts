import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Exchange } from '../exchange/exchange.js';
import { silentLogger } from '../exchange/logger.js';
import { LowSpaceGuard, type AvailableSpace } from './low-space-guard.js';

const mebibyte = 1024 * 1024;
const totalBytes = 100_000 * mebibyte;
const plenty: AvailableSpace = {
  totalBytes,
  freeBytes: totalBytes,
  reusableBytes: 0,
  owedBytes: 0,
};
const full: AvailableSpace = { ...plenty, freeBytes: 64 * mebibyte - 1 };

/** A guard of a disk whose space can be set, and the times until it looks at it again. */
function guarded(space: AvailableSpace | undefined | Error) {
  const disk = { space, nowMs: 0, waits: [] as number[], look: () => {} };
  const guard = new LowSpaceGuard({
    space: () =>
      disk.space instanceof Error ? Promise.reject(disk.space) : Promise.resolve(disk.space),
    clock: { monotonicMs: () => disk.nowMs },
    timers: {
      start(delayMs, callback, argument) {
        disk.waits.push(delayMs);
        disk.look = () => callback(argument);
        return { close: () => undefined };
      },
    },
    logger: silentLogger,
  });
  const ask = async (operation: string, mayGrow = true): Promise<boolean> => {
    const exchange = { method: 'PUT' } as Exchange;
    const rest = { hasLoad: false, entities: () => [], standAside: () => Promise.resolve() };
    try {
      if (guard.isActive) await guard.beforeWork({ exchange, operation, mayGrow, ...rest });
      return true;
    } catch (error) {
      assert.ok(error instanceof StorageError);
      assert.deepEqual([error.code, error.status], ['InternalError', 500]);
      assert.match(error.message, /^The disk of the server is full but for a reserve\./);
      return false;
    }
  };
  return { disk, guard, ask };
}

describe('a disk that is full but for its reserve', () => {
  it('gets no writes that need space, and is read and deleted from', async () => {
    const { guard, ask } = guarded(full);
    await guard.start();
    for (const name of ['InsertEntity', 'PutMessage', 'PutBlob', 'CopyBlob', 'CreateTable']) {
      assert.equal(await ask(name), false, name);
    }
    const served =
      'DeleteEntity ClearMessages DeleteBlob QueryEntities GetMessages UpdateMessage BlobBatch ' +
      'AcquireBlobLease BreakContainerLease SetBlobServiceProperties SetTableAcl SetQueueACL';
    for (const name of served.split(' ')) assert.equal(await ask(name), true, name);
    assert.equal(await ask('EntityGroupTransaction', false), true, 'one of deletions alone');
    assert.equal(await ask('EntityGroupTransaction'), false);
  });

  it('is looked at again for each refused request, so that freed space counts at once', async () => {
    const { disk, guard, ask } = guarded(full);
    await guard.start();
    disk.space = plenty;
    assert.equal(await ask('PutBlob'), false, 'it has just been looked at');
    disk.nowMs = 100;
    assert.equal(await ask('PutBlob'), true);
    assert.equal(guard.isActive, false);
  });

  it('counts what rows need that have no place yet, and what was deleted in the data file', async () => {
    const isServed = async (space: AvailableSpace) => {
      const { guard, ask } = guarded(space);
      await guard.start();
      return ask('InsertEntity');
    };
    const half = { ...plenty, freeBytes: 32 * mebibyte };
    assert.equal(await isServed({ ...plenty, freeBytes: 64 * mebibyte }), true);
    assert.equal(await isServed({ ...plenty, freeBytes: 164 * mebibyte }), true);
    const owing = { ...plenty, freeBytes: 164 * mebibyte, owedBytes: 51 * mebibyte };
    assert.equal(await isServed(owing), false);
    assert.equal(await isServed({ ...half, reusableBytes: 64 * mebibyte }), true);
    assert.equal(await isServed({ ...half, reusableBytes: 63 * mebibyte }), false);
    const less = { ...half, freeBytes: 31 * mebibyte, reusableBytes: 500 * mebibyte };
    assert.equal(await isServed(less), false, 'deletions need space too');
  });

  it('is looked at more often the less is left', async () => {
    const { disk, guard } = guarded(plenty);
    await guard.start();
    disk.space = { ...plenty, freeBytes: 74 * mebibyte };
    disk.look();
    await new Promise(setImmediate);
    disk.space = full;
    disk.look();
    await new Promise(setImmediate);
    assert.deepEqual(disk.waits.map(Math.round), [1000, 26, 1000]);
  });
});

describe('a disk that does not say what it has', () => {
  it('is written to', async () => {
    for (const space of [undefined, new Error('away')]) {
      const { guard, ask } = guarded(space);
      await guard.start();
      assert.equal(await ask('PutBlob'), true);
    }
  });
});
