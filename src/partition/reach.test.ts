import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemTimers } from '../base/async/timers.js';
import { systemClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import {
  StoreClosedError,
  StoreDamagedError,
  StoreUnavailableError,
  StoreWriteError,
} from '../kv/errors.js';
import { Members } from './members.js';
import { awayStores } from './reach.js';

/** Three stores, of which the second is as `change` makes it. */
async function members(change: (store: Awaited<ReturnType<typeof openMemoryStore>>) => void) {
  const open = () => openMemoryStore({ clock: systemClock });
  const changed = await open();
  change(changed);
  return new Members(
    'a',
    new Map([
      ['a', await open()],
      ['b', changed],
      ['c', await open()],
    ]),
  );
}

void describe('stores that are away', () => {
  void it('are none when all answer', async () => {
    const all = await members(() => undefined);
    assert.deepEqual(await awayStores(all, systemTimers), new Set());
  });

  void it('are those that answer and are in trouble', async () => {
    const all = await members((store) => {
      Object.assign(store, { trouble: () => new StoreWriteError('Commits are lost.') });
    });
    assert.deepEqual(await awayStores(all, systemTimers), new Set(['b']));
  });

  for (const error of [new StoreUnavailableError('away'), new StoreDamagedError('damaged')]) {
    void it(`are those that answer with ${error.name}`, async () => {
      const all = await members((store) => {
        store.get = () => Promise.reject(error);
      });
      assert.deepEqual(await awayStores(all, systemTimers), new Set(['b']));
    });
  }

  void it('are not asked for by a process that closes its stores', async () => {
    const all = await members((store) => {
      store.get = () => Promise.reject(new StoreClosedError());
    });
    await assert.rejects(awayStores(all, systemTimers), StoreClosedError);
  });
});
