import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Exchange } from '../exchange/exchange.js';
import { LowSpaceGuard } from './low-space-guard.js';

/** A guard of a disk, and whether requests pass it. */
function guarded() {
  const disk = { isLow: true, isStillLow: () => Promise.resolve(disk.isLow) };
  const guard = new LowSpaceGuard(disk);
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
    const { ask } = guarded();
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

  it('gets them again when it turns out to have space', async () => {
    const { disk, guard, ask } = guarded();
    disk.isStillLow = () => Promise.resolve(false);
    assert.equal(guard.isActive, true);
    assert.equal(await ask('PutBlob'), true);
  });
});
