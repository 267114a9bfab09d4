import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemTimers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { RangeSizes } from '../../src/partition/balancer/range-sizes.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { admitted, membersOf } from './composed-stores.js';

const quarterMs = 900_000;
const mebibyte = 1 << 20;

void it('a range is measured again when few writes have brought many bytes', async () => {
  const members = await admitted(membersOf([await openMemoryStore({ clock: manualClock() })]));
  const map = await new Catalogue(members.home).map();
  const [range] = map.ranges;
  assert.ok(range !== undefined);
  const sizes = new RangeSizes();
  const measure = () => sizes.take(range, { members, timers: systemTimers, nowMs: 0 });
  const isDue = () => sizes.due(map, quarterMs).length > 0;
  assert.ok(isDue());
  for (const [writes, bytes, due] of [
    [9_999, 63 * mebibyte, false],
    [64, 64 * mebibyte, true],
    [10_000, 10_000, true],
  ] as const) {
    await measure();
    sizes.noteWrites(range.id, { writes: writes / 2, bytes: bytes / 2 });
    sizes.noteWrites(range.id, { writes: writes / 2, bytes: bytes / 2 });
    assert.equal(isDue(), due, `${writes} writes of ${bytes} bytes`);
    assert.equal(sizes.due(map, quarterMs - 1).length, 0, 'it rests for a quarter of an hour');
  }
});
