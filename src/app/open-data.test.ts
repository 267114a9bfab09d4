import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { openFileContent } from '../content/files/content.js';
import { openMemoryStore } from '../engines/memory/store.js';
import type { ServedStore } from '../kv/served-store.js';
import { openData } from './open-data.js';
import { settingsOf } from './settings.js';

void it('lets nobody sweep what waits for its commit before the store is closed', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-data-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const settings = settingsOf({ location: directory });
  const beside = await openFileContent({ directory, ...settings });
  t.after(() => beside.close());
  const sweep = async (): Promise<number> => {
    const isReferenced = () => Promise.resolve(new Set<string>());
    return (await beside.sweepOrphans({ isReferenced, extentsMax: 64 })).deleted;
  };
  let deletedDuringClose: number | undefined;
  const store = await openMemoryStore({ clock: settings.clock });
  const closing = async (): Promise<void> => {
    // A commit under way could still name the extent here.
    deletedDuringClose = await sweep();
    await store.close();
  };
  const data = await openData(settings, () => Promise.resolve(closedBy(store, closing)));
  await data.content.put(piece(), Buffer.from('owner'));
  await data.close();
  assert.equal(deletedDuringClose, 0);
  assert.equal(await sweep(), 1);
});

async function* piece(): AsyncGenerator<Buffer, void, void> {
  yield Buffer.alloc(100);
}

function closedBy(store: ServedStore, close: ServedStore['close']): ServedStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'close') return close;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
