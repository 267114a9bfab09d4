import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualTimers } from '../../test/support/manual-timers.js';
import { fasterTimers } from '../../test/support/quick-timers.js';
import { systemTimers } from '../base/async/timers.js';
import { silentLogger } from '../http/exchange/logger.js';
import { StoreUnavailableError, StoreWriteError } from '../kv/errors.js';
import type { ServedStore } from '../kv/served-store.js';
import { openStore } from './backend.js';
import { startServer } from './server.js';
import { StoreHealth } from './store-health.js';

/** Shortens waits for a store. */
const hastyTimers = fasterTimers(100, systemTimers);

interface State {
  trouble?: Error;
  get?: () => Promise<undefined>;
}

async function serverWith(state: State) {
  const server = await startServer(
    { inMemory: true, tablePort: 0, queuePort: 0, blobPort: 0, timers: hastyTimers },
    'exclusive',
    async (settings, sharing) => changed(await openStore(settings, sharing), state),
  );
  return {
    async health() {
      const answer = await fetch(`http://127.0.0.1:${server.tablePort}/healthz`);
      const { status, headers } = answer;
      return [status, headers.get('retry-after'), await answer.json()];
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** A store with another trouble and other reads. */
function changed(store: ServedStore, state: State): ServedStore {
  const trouble = () => state.trouble;
  const get: ServedStore['get'] = (key) => state.get?.() ?? store.get(key);
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'trouble') return trouble;
      if (name === 'get') return get;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const ok = [200, null, { status: 'ok' }];
const away = [503, '1', { status: 'unavailable', reason: 'away' }];
const failed = [503, null, { status: 'unavailable', reason: 'failed' }];

void describe('the health of a server', () => {
  void it('tells a database that is away from a server that is ill', async () => {
    const state: State = {};
    await using server = await serverWith(state);
    assert.deepEqual(await server.health(), ok);
    state.trouble = new StoreUnavailableError('No database takes writes.');
    assert.deepEqual(await server.health(), away);
    state.trouble = new StoreWriteError('Commits are lost.');
    assert.deepEqual(await server.health(), failed);
    delete state.trouble;
    state.get = () => Promise.reject(new StoreUnavailableError('No database takes writes.'));
    assert.deepEqual(await server.health(), away);
    state.get = () => Promise.reject(new Error('damaged'));
    assert.deepEqual(await server.health(), failed);
    delete state.get;
    assert.deepEqual(await server.health(), ok);
  });

  void it('is told in time when the store says nothing at all', async () => {
    const state: State = {};
    await using server = await serverWith(state);
    state.get = () => new Promise(() => undefined);
    assert.deepEqual(await server.health(), away);
  });

  void it('waits for a store and for content that say nothing at the same time', async () => {
    const timers = manualTimers();
    const silent = () => new Promise<never>(() => undefined);
    const store = { get: silent };
    const data = { store, trouble: () => undefined, checkContentPlace: silent };
    const check = new StoreHealth({ data, timers, logger: silentLogger }).check();
    const state = { isOver: false };
    const answer = check.finally(() => (state.isOver = true));
    assert.equal(timers.waiting, 2, 'it waits for one of them alone');
    while (!state.isOver) {
      timers.fire();
      await turn();
    }
    assert.equal(await answer, 'away');
  });

  void it('comes back by being asked, when nobody else asks the store', async () => {
    const state: State = { trouble: new StoreUnavailableError('No database takes writes.') };
    await using server = await serverWith(state);
    state.get = () => {
      // The engine does the same when it reaches its server again.
      delete state.trouble;
      return Promise.resolve(undefined);
    };
    assert.deepEqual(await server.health(), ok);
  });
});
