import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { holding, journalDirectory, putRow, rowOf } from '../../../test/support/journals.js';
import { StoreClosedError } from '../../kv/errors.js';
import type { JournalBase } from './store.js';

/** A base that restores a snapshot when it is told to. */
function restoringLater() {
  const state = { isAsked: false, restore: (): void => undefined };
  const base = (memory: JournalBase): JournalBase =>
    new Proxy(memory, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== 'function') return found;
        if (name !== 'restoreSnapshot') return found.bind(target);
        return async (...args: readonly unknown[]) => {
          state.isAsked = true;
          await new Promise<void>((resolve) => (state.restore = resolve));
          await found.apply(target, args);
        };
      },
    });
  return { state, base };
}

describe('restores of a store with a journal', () => {
  it('ends a close after a snapshot that is being restored', async () => {
    await using made = await journalDirectory();
    const { state, base } = restoringLater();
    const store = await made.open({ base });
    await putRow(store, 'kept');
    const snapshot = await store.takeSnapshot();
    await putRow(store, 'lost');
    const restored = store.restoreSnapshot(snapshot);
    while (!state.isAsked) await pause(0);
    let isClosed = false;
    const closed = store.close().then(() => (isClosed = true));
    for (let turn = 0; turn < 50; turn += 1) await pause(0);
    assert.equal(isClosed, false);
    state.restore();
    await Promise.all([restored, closed]);
    const next = await made.open();
    assert.deepEqual([await rowOf(next, 'kept'), await rowOf(next, 'lost')], ['kept', undefined]);
  });

  it('refuses to restore a snapshot when a close has begun before it could', async () => {
    await using made = await journalDirectory();
    const { hold, base } = holding();
    const store = await made.open({ base });
    await putRow(store, 'kept');
    const snapshot = await store.takeSnapshot();
    await putRow(store, 'put later');
    hold.isOn = true;
    const refused = assert.rejects(store.restoreSnapshot(snapshot), StoreClosedError);
    for (let turn = 0; turn < 10; turn += 1) await pause(0);
    const closed = store.close();
    hold.release();
    await Promise.all([refused, closed]);
    const next = await made.open();
    assert.deepEqual(
      [await rowOf(next, 'kept'), await rowOf(next, 'put later')],
      ['kept', 'put later'],
    );
  });
});
