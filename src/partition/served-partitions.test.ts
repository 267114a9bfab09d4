import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemTimers } from '../base/async/timers.js';
import { manualClock } from '../base/clock.js';
import { systemRandomness } from '../base/randomness.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { Members } from './members.js';
import { ServedPartitions, type ServedMember } from './served-partitions.js';
import { openPartitionedStore } from './store.js';

it('has lost commits when one of its stores has, also while home has no trouble', async () => {
  const clock = manualClock();
  const home = await openMemoryStore({ clock });
  const lossy: ServedMember = await openMemoryStore({ clock });
  const members = new Members('home', new Map([['home', home]]));
  const parts = { members, clock, timers: systemTimers, randomness: systemRandomness };
  const store = await openPartitionedStore(parts);
  const served = new ServedPartitions(store, home, () => [home, lossy]);
  assert.equal(served.hasLost(), false);
  Object.assign(lossy, { hasLost: () => true });
  assert.deepEqual([served.hasLost(), served.trouble()], [true, undefined]);
  await served.close();
  await lossy.close();
});
