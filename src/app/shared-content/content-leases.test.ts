import assert from 'node:assert/strict';
import { it } from 'node:test';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { deferred } from '../../base/async/deferred.js';
import { manualClock } from '../../base/clock.js';
import { openMemoryStore, type MemoryStore } from '../../engines/memory/store.js';
import { ContentLeases } from './content-leases.js';

const silent = {
  isCertain: () => true,
  onLost: () => undefined,
  onTrouble: () => undefined,
  holdIfLost: () => Promise.resolve(),
};

void it('renews no lease that ends during a renewal', async () => {
  const clock = manualClock();
  const timers = manualTimers();
  const memory = await openMemoryStore({ clock });
  const gate: Gate = { pass: () => Promise.resolve() };
  const store = withCommitsThrough(memory, gate);
  const leases = new ContentLeases({ store, clock, timers, shown: 'a server', ...silent });
  const handle = await leases.listen('token');
  const [reached, released] = [deferred(), deferred()];
  gate.pass = () => {
    reached.resolve();
    return released.promise;
  };
  timers.fire();
  await reached.promise;
  const closing = handle.close();
  released.resolve();
  assert.equal(await closing, true);
  assert.equal(timers.waiting, 0);
  await memory.close();
});

interface Gate {
  pass: () => Promise<void>;
}

/** A store whose commits begin when a gate lets them. */
function withCommitsThrough(store: MemoryStore, gate: Gate): MemoryStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name !== 'commit') return member.bind(target);
      return (...given: unknown[]) => gate.pass().then(() => member.call(target, ...given));
    },
  });
}
