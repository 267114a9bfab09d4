import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DiskWatch, type AvailableSpace } from './disk-watch.js';

const mebibyte = 1024 * 1024;
const totalBytes = 100_000 * mebibyte;
const plenty: AvailableSpace = {
  totalBytes,
  freeBytes: totalBytes,
  reusableBytes: 0,
  owedBytes: 0,
};
const full: AvailableSpace = { ...plenty, freeBytes: 64 * mebibyte - 1 };

/** A watch over a disk whose space can be set, and the times until it looks at it again. */
function watched(space: AvailableSpace | undefined | Error) {
  const disk = { space, nowMs: 0, waits: [] as number[], changes: [] as boolean[], look: () => {} };
  const watch = new DiskWatch({
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
    onChange: (isLow) => disk.changes.push(isLow),
  });
  return { disk, watch };
}

async function isLow(space: AvailableSpace | undefined | Error): Promise<boolean> {
  const { watch } = watched(space);
  await watch.start();
  return watch.isLow;
}

describe('a watch over a disk', () => {
  it('looks again where it matters, so that freed space counts at once', async () => {
    const { disk, watch } = watched(full);
    await watch.start();
    disk.space = plenty;
    assert.equal(await watch.isStillLow(), true, 'it has just looked');
    disk.nowMs = 100;
    assert.equal(await watch.isStillLow(), false);
    assert.equal(watch.isLow, false);
    disk.space = full;
    assert.equal(await watch.isStillLow(), false, 'it has just looked');
    assert.equal(await watch.isLowNow(), true);
    assert.deepEqual(disk.changes, [true, false, true]);
  });

  it('does not take a look that began before for one of now', async () => {
    const { disk, watch } = watched(plenty);
    const early = watch.isStillLow();
    disk.space = full;
    assert.equal(await watch.isLowNow(), true);
    await early;
  });

  it('counts what rows need that have no place yet, and what was deleted in the data file', async () => {
    const half = { ...plenty, freeBytes: 32 * mebibyte };
    assert.equal(await isLow({ ...plenty, freeBytes: 64 * mebibyte }), false);
    assert.equal(await isLow({ ...plenty, freeBytes: 164 * mebibyte }), false);
    const owing = { ...plenty, freeBytes: 164 * mebibyte, owedBytes: 51 * mebibyte };
    assert.equal(await isLow(owing), true);
    assert.equal(await isLow({ ...half, reusableBytes: 64 * mebibyte }), false);
    assert.equal(await isLow({ ...half, reusableBytes: 63 * mebibyte }), true);
    const less = { ...half, freeBytes: 31 * mebibyte, reusableBytes: 500 * mebibyte };
    assert.equal(await isLow(less), true, 'deletions need space too');
  });

  it('looks more often the less is left', async () => {
    const { disk, watch } = watched(plenty);
    await watch.start();
    disk.space = { ...plenty, freeBytes: 74 * mebibyte };
    disk.look();
    await new Promise(setImmediate);
    disk.space = full;
    disk.look();
    await new Promise(setImmediate);
    assert.deepEqual(disk.waits.map(Math.round), [1000, 26, 1000]);
  });

  it('finds space where the disk does not say what it has', async () => {
    for (const space of [undefined, new Error('away')]) assert.equal(await isLow(space), false);
  });
});
