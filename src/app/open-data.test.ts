import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { SweepStep } from '../content/content-store.js';
import { ContentClosedError } from '../content/errors.js';
import { openFileContent } from '../content/files/content.js';
import { silentLogger, type Logger } from '../http/exchange/logger.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { StoreFailedError, StoreUnavailableError, StoreWriteError } from '../kv/errors.js';
import type { ServedStore } from '../kv/served-store.js';
import { openData } from './open-data.js';
import { settingsOf } from './settings.js';

void it('lets nobody sweep what waits for its commit before the store is closed', async (t) => {
  const { settings, store, sweep, logged } = await setUp(t);
  let deletedDuringClose: number | undefined;
  const closing = async (): Promise<void> => {
    // A commit under way could still name the extent here.
    deletedDuringClose = (await sweep()).deleted;
    await store.close();
  };
  const data = await openData(settings, () => Promise.resolve(closedBy(store, closing)));
  await data.content.put(piece(), Buffer.from('owner'));
  await data.close();
  assert.equal(deletedDuringClose, 0);
  assert.deepEqual(logged, [{ extents: 1 }]);
  assert.equal((await sweep()).deleted, 1);
});

void it('lets nobody sweep what a store may name that was not closed in time', async (t) => {
  const stuck = new StoreFailedError('it could not be closed within 10 s.');
  const refused = new Error('the directory could not be given back');
  for (const thrown of [undefined, refused]) {
    const { settings, store, sweep } = await setUp(t);
    let failure: Error | undefined;
    const closing = (): Promise<void> => {
      if (thrown !== undefined) return Promise.reject(thrown);
      failure = stuck;
      return Promise.resolve();
    };
    const failing = closedBy(store, closing, { trouble: () => failure });
    const data = await openData(settings, () => Promise.resolve(failing));
    const { id } = await data.content.put(piece(), Buffer.from('owner'));
    await data.close().catch((error: unknown) => assert.equal(error, thrown));
    assert.equal((await sweep()).deleted, 0);
    const puts = [{ key: Buffer.from('name'), value: Buffer.from(id) }];
    await store.commit({ checks: [], puts, deletes: [] });
    assert.equal((await sweep()).deleted, 0);
    await assert.rejects(data.content.read(id, 0, 100), ContentClosedError);
    await store.close();
  }
});

void it('leaves to the sweep what waits alone, or all when the store has lost commits or its files, or may have', async (t) => {
  for (const { trouble, hasLost = false, looked } of [
    { trouble: new StoreUnavailableError('no database takes writes'), looked: 2 },
    { trouble: new StoreWriteError('the disk is full'), looked: 1 },
    { trouble: new StoreWriteError('commits are lost'), hasLost: true, looked: 2 },
    { trouble: undefined, hasLost: true, looked: 2 },
    { trouble: new Error('the file is gone'), looked: 2 },
  ]) {
    const { settings, store, sweep } = await setUp(t);
    const close = () => store.close();
    const troubled = closedBy(store, close, { trouble: () => trouble, hasLost: () => hasLost });
    const data = await openData(settings, () => Promise.resolve(troubled));
    const { id } = await data.content.put(piece(), Buffer.from('owner'));
    data.content.confirm([id]);
    await data.content.put(piece(), Buffer.from('owner'));
    await data.close();
    assert.equal((await sweep()).looked, looked, trouble?.message);
  }
});

/** A store, and a sweep of the content by another process, for which no extent is named. */
async function setUp(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-data-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const logged: unknown[] = [];
  const info: Logger['info'] = (_text, details) => void logged.push(details);
  const settings = settingsOf({ location: directory, logger: { ...silentLogger, info } });
  const beside = await openFileContent({ directory, ...settings });
  t.after(() => beside.close());
  const sweep = (): Promise<SweepStep> => {
    const isReferenced = () => Promise.resolve(new Set<string>());
    return beside.sweepOrphans({ isReferenced, extentsMax: 64 });
  };
  return { settings, store: await openMemoryStore({ clock: settings.clock }), sweep, logged };
}

async function* piece(): AsyncGenerator<Buffer, void, void> {
  yield Buffer.alloc(100);
}

function closedBy(
  store: ServedStore,
  close: ServedStore['close'],
  state: Partial<Pick<ServedStore, 'trouble' | 'hasLost'>> = {},
): ServedStore {
  const others = { close, ...state };
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(others, name)) return Reflect.get(others, name);
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
