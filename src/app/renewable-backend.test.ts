import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualClock } from '../base/clock.js';
import { systemRandomness } from '../base/randomness.js';
import { openMemoryContent } from '../content/memory/content.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { backendOver } from './backend.js';
import { renewableBackend } from './renewable-backend.js';
import { settingsOf } from './settings.js';

/** `copies`: how many copies of each service, in their order, have not ended. */
async function worldWith(copies: readonly number[]) {
  const clock = manualClock();
  const store = await openMemoryStore({ clock });
  const settings = settingsOf({ inMemory: true, clock, randomness: systemRandomness });
  const left = [...copies];
  const closes = copies.map(() => 0);
  let made = 0;
  const backend = renewableBackend(() => {
    const services = backendOver({ store, content: openMemoryContent() }, settings);
    const at = made;
    made += 1;
    services.blobs.close = () => {
      closes[at] = (closes[at] ?? 0) + 1;
      return Promise.resolve(left[at] ?? 0);
    };
    return services;
  });
  return { backend, left, closes };
}

describe('services that were replaced', () => {
  it('do not count for copies that have ended since', async () => {
    const { backend, left } = await worldWith([1, 0]);
    backend.renew();
    await turn();
    left[0] = 0;
    assert.equal(await backend.close(5_000), 0);
  });

  it('are waited for again in the end while they have copies, and forgotten then', async () => {
    const { backend, closes } = await worldWith([2, 0, 1]);
    backend.renew();
    await turn();
    backend.renew();
    await turn();
    assert.equal(await backend.close(5_000), 3);
    assert.deepEqual(closes, [3, 1, 1]);
    assert.equal(await backend.close(5_000), 3, 'nothing is counted twice');
  });
});
