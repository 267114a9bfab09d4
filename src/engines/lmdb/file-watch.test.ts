import assert from 'node:assert/strict';
import { copyFile, cp, mkdir, readdir, rename, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { describe } from 'node:test';
import { spawnLmdbStore, temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { CommitUnknownError, StoreWriteError } from '../../kv/errors.js';
import { openLmdbStore, type LmdbStore, type LmdbStoreOptions } from './store.js';
import { costly } from '../../../test/support/run-length.js';

const key = Buffer.from('key');

async function setUp(t: TestContext, options: Partial<LmdbStoreOptions> = {}) {
  const { directory, remove } = await temporaryLocation();
  const timers = manualTimers();
  const told: string[] = [];
  const store = await openLmdbStore({
    directory,
    clock: manualClock(),
    timers,
    events: {
      detached: () => told.push('detached'),
      restored: () => told.push('restored'),
      failed: () => told.push('failed'),
    },
    ...options,
  });
  t.after(async () => {
    await store.close();
    await remove();
  });
  await put(store);
  return { directory, store, timers, told };
}

function put(store: Pick<LmdbStore, 'commit'>) {
  return store.commit({ checks: [], puts: [{ key, value: key }], deletes: [] });
}

/** Ways in which a running store loses its files. */
const losses: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  'its directory is renamed': (directory) => rename(directory, `${directory}.old`),
  'its directory is removed': (directory) => rm(directory, { recursive: true }),
  'its directory is removed and made again': async (directory) => {
    await rm(directory, { recursive: true });
    await mkdir(directory);
  },
  'its directory is replaced by a copy': async (directory) => {
    await cp(directory, `${directory}.copy`, {
      recursive: true,
      filter: (name) => !name.endsWith('.sock'),
    });
    await rename(directory, `${directory}.old`);
    await rename(`${directory}.copy`, directory);
  },
  'its data file is replaced': async (directory) => {
    await copyFile(join(directory, 'data.mdb'), join(directory, 'copy'));
    await rename(join(directory, 'copy'), join(directory, 'data.mdb'));
  },
  'its lock file is removed': (directory) => rm(join(directory, 'data.mdb-lock')),
};

describe('a store that loses its files', () => {
  for (const [name, lose] of Object.entries(losses)) {
    it(`acknowledges no write when ${name}, and still reads`, async (t) => {
      const { directory, store, told } = await setUp(t);
      await lose(directory);
      // This write happened before the loss was noticed, so it may be in the file.
      await assert.rejects(put(store), (error) => {
        assert.ok(error instanceof CommitUnknownError);
        assert.match(error.message, /is not known: The file .*data\.mdb/);
        return true;
      });
      await assert.rejects(put(store), (error) => {
        assert.ok(error instanceof StoreWriteError);
        assert.match(error.message, /^Nothing is written: The file .*data\.mdb/);
        return true;
      });
      assert.equal((await store.get(key))?.value.toString(), 'key');
      assert.deepEqual(told, ['detached']);
    });
  }

  it('does not create them again in the thread that ingests for it', async (t) => {
    const { directory, store } = await setUp(t, { ingestsInThread: 'all' });
    await rm(directory, { recursive: true });
    const entries = [{ key, value: key, version: 2 ** 50 }];
    await assert.rejects(store.ingest({ entries, deletes: [], floor: 0 }));
    await assert.rejects(stat(directory), { code: 'ENOENT' });
  });

  it('refuses to restore a snapshot too, and changes nothing where its files are now', async (t) => {
    const { directory, store, told } = await setUp(t);
    await rename(directory, `${directory}.old`);
    await assert.rejects(store.restoreSnapshot(), /Nothing is written: The file .*data\.mdb/);
    assert.equal((await store.get(key))?.value.toString(), 'key');
    await rename(`${directory}.old`, directory);
    await store.restoreSnapshot();
    assert.equal(await store.get(key), undefined);
    assert.deepEqual(told, ['detached', 'restored']);
  });

  it('notices it while nothing is written', async (t) => {
    const { directory, store, timers, told } = await setUp(t);
    assert.equal(store.trouble(), undefined);
    await rename(directory, `${directory}.old`);
    timers.fire();
    assert.match(store.trouble()?.message ?? '', /is gone or cannot be looked at \(ENOENT\)/);
    timers.fire();
    assert.deepEqual(told, ['detached']);
  });

  it('writes again when they are back', async (t) => {
    const { directory, store, told } = await setUp(t);
    await rename(directory, `${directory}.old`);
    await assert.rejects(put(store));
    await rename(`${directory}.old`, directory);
    assert.equal((await put(store)).ok, true);
    assert.equal(store.trouble(), undefined);
    assert.deepEqual(told, ['detached', 'restored']);
  });

  it('keeps a second owner away from the directory wherever it is now', costly(), async (t) => {
    const { directory } = await setUp(t);
    await rename(directory, `${directory}.old`);
    await assert.rejects(spawnLmdbStore(`${directory}.old`, 'exclusive'));
  });

  const cuts: Readonly<Record<string, (directory: string) => Promise<void>>> = {
    'to a part': (directory) => truncate(join(directory, 'data.mdb'), 8192),
    'to nothing': (directory) => truncate(join(directory, 'data.mdb')),
  };
  for (const [name, cut] of Object.entries(cuts)) {
    it(`fails before it reads again when its data file is cut ${name}`, async (t) => {
      const { directory, store, timers, told } = await setUp(t);
      await cut(directory);
      timers.fire();
      const reason = /The storage engine cannot go on: the file .*data\.mdb was cut from \d+ to/;
      assert.match(store.trouble()?.message ?? '', reason);
      await assert.rejects(store.get(key), reason);
      await assert.rejects(put(store), /Restore a backup of the data directory\.$/);
      assert.deepEqual(told, ['failed']);
    });
  }

  const writes = {
    'writes nothing': put,
    'does not set the data back': (store: LmdbStore) => store.restoreSnapshot(),
  };
  for (const [name, write] of Object.entries(writes)) {
    it(`${name} beside an owner that took it for dead`, async (t) => {
      const { directory, store, told } = await setUp(t);
      for (const file of await readdir(directory)) {
        if (file.endsWith('.sock')) await rm(join(directory, file));
      }
      const second = await spawnLmdbStore(directory, 'exclusive');
      t.after(() => second.kill());
      await assert.rejects(write(store), /StoreFailedError|another process took over/);
      assert.deepEqual(told, ['failed']);
      assert.equal((await second.store.get(key))?.value.toString(), 'key');
      assert.equal((await put(second.store)).ok, true);
      await second.store.close();
    });
  }
});
