import assert from 'node:assert/strict';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { manualTimers } from '../../../../test/support/manual-timers.js';
import { deferred } from '../../../base/async/deferred.js';
import { manualClock } from '../../../base/clock.js';
import { openMemoryContent } from '../../../content/memory/content.js';
import { openMemoryStore, type MemoryStore } from '../../../engines/memory/store.js';
import { silentLogger } from '../../../http/exchange/logger.js';
import { WatchedStore } from '../../moves/watched-store.js';
import { Migrations } from './migrations.js';

/** The store, whose calls wait for `released`. */
function silentUntil(released: Promise<void>, store: MemoryStore): MemoryStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => released.then(() => member.call(target, ...given));
    },
  });
}

describe('migrations of a server that stops', () => {
  it('hold it up no longer than it may wait when the target says nothing', async () => {
    const clock = manualClock();
    const timers = manualTimers();
    const { promise: released, resolve: release } = deferred();
    const inner = await openMemoryStore({ clock });
    const told: string[] = [];
    const migrations = new Migrations({
      store: new WatchedStore(inner, timers),
      content: openMemoryContent(),
      location: join(tmpdir(), 'tabularium-source-that-is-not-there'),
      openTarget: async () => silentUntil(released, await openMemoryStore({ clock })),
      clock,
      timers,
      logger: { ...silentLogger, warn: (message) => void told.push(message) },
      onMoved: () => assert.fail('nothing has moved'),
    });
    const location = join(tmpdir(), 'tabularium-target-that-is-not-there');
    await migrations.begin({ location });
    const closing = migrations.close(5_000);
    for (let step = 0; step < 4; step += 1) timers.fire(1_250);
    await closing;
    assert.deepEqual(told, ['the migration has not ended: the stop goes on without it']);
    await inner.close();
    release();
    await migrations.cancel();
    assert.notEqual(migrations.info?.state, 'done');
    assert.notEqual(migrations.info?.state, 'running');
  });
});
