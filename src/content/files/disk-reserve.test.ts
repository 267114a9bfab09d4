import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bound, temporaryContent } from '../../../test/support/content/temporary-content.js';
import { put, readAll, sample } from '../conformance/samples.js';
import { ContentWriteError } from '../errors.js';
import { DiskReserve } from './disk-reserve.js';

const mebibyte = 1024 * 1024;

function refused(error: unknown): boolean {
  return error instanceof ContentWriteError && error.isFull;
}

describe('the reserve of a disk', () => {
  it('refuses content into the last 64 MiB, or the last sixteenth of a small disk', async () => {
    for (const [totalMebibytes, reserved] of [
      [100_000, 64],
      [160, 10],
    ] as const) {
      const room = { freeBytes: (reserved + 1) * mebibyte, totalBytes: totalMebibytes * mebibyte };
      const reserve = () => new DiskReserve({ room: () => Promise.resolve(room) });
      await reserve().take(mebibyte);
      await assert.rejects(async () => reserve().take(mebibyte + 1), refused);
    }
  });

  it('is never reached by what is written between two questions', async () => {
    const totalBytes = 100_000 * mebibyte;
    const reserved = 64 * mebibyte;
    const disk = { freeBytes: reserved + 100 * mebibyte, totalBytes, questions: 0 };
    const room = () => {
      disk.questions += 1;
      return Promise.resolve(disk);
    };
    const reserve = new DiskReserve({ room });
    const piece = 64 * 1024;
    const fill = async (): Promise<void> => {
      for (;;) {
        await reserve.take(piece);
        disk.freeBytes -= piece;
      }
    };
    await assert.rejects(fill(), refused);
    assert.equal(disk.freeBytes, reserved);
    assert.ok(disk.questions < 100, `${disk.questions} questions for 1,600 pieces`);
  });

  it('has no bounds where the file system does not say what it has', async () => {
    const reserve = new DiskReserve({ room: () => Promise.resolve(undefined) });
    await reserve.take(mebibyte);
    assert.equal(reserve.take(Number.MAX_SAFE_INTEGER), undefined);
  });

  it('stores nothing of what it refuses, and lets content be read and freed', async (t) => {
    const disk = { freeBytes: 1000 * mebibyte, totalBytes: 1600 * mebibyte };
    const { content, count, dispose } = await temporaryContent({
      wrap: (files) =>
        new Proxy(files, {
          get: (target, name) =>
            name === 'room' ? () => Promise.resolve(disk) : bound(target, name),
        }),
    });
    t.after(dispose);
    const first = await put(content, sample(100_000));
    disk.freeBytes = 64 * mebibyte;
    await assert.rejects(put(content, sample(40 * mebibyte)), refused);
    assert.equal(await count(), 1);
    assert.ok((await readAll(content, first)).equals(sample(100_000)));
    await content.free([first]);
    assert.equal(await count(), 0);
    disk.freeBytes += mebibyte;
    assert.ok(await put(content, sample(100_000)));
  });
});
