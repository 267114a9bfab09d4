import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { pagesOf } from './pages.js';
import { partitionPrefix } from './partition-prefix.js';
import type { Entry } from './store.js';
import { appendString, prefixRange } from './tuple.js';

const prefix = partitionPrefix('table', 'account', 1, 'partition');
const names = ['a', 'b', 'c', 'd', 'e'];
const keyOf = (name: string) => appendString(prefix, name);

function textsOf(entries: readonly Entry[]): string[] {
  return entries.map(({ value }) => Buffer.from(value).toString());
}

async function storeWithNames() {
  const store = await openMemoryStore({ clock: manualClock() });
  const puts = names.map((name) => ({ key: keyOf(name), value: Buffer.from(name) }));
  await store.commit({ checks: [], puts, deletes: [] });
  return store;
}

async function read(limit: number) {
  const store = await storeWithNames();
  const pages: string[][] = [];
  for await (const entries of pagesOf(store, prefixRange(prefix), { limit, bytesMax: 1_000 })) {
    pages.push(textsOf(entries));
  }
  return pages;
}

describe('the pages of a range', () => {
  it('have all entries in order, and none is empty', async () => {
    assert.deepEqual(await read(2), [['a', 'b'], ['c', 'd'], ['e']]);
    assert.deepEqual(await read(5), [names]);
  });

  it('stay within the range', async () => {
    const store = await storeWithNames();
    const range = { start: keyOf('b'), end: keyOf('d') };
    const found: string[] = [];
    for await (const entries of pagesOf(store, range, { limit: 1, bytesMax: 0 })) {
      found.push(...textsOf(entries));
    }
    assert.deepEqual(found, ['b', 'c']);
  });

  it('are none where the range has no entries', async () => {
    const store = await openMemoryStore({ clock: manualClock() });
    for await (const page of pagesOf(store, prefixRange(prefix), { limit: 2, bytesMax: 0 })) {
      assert.fail(`a page of ${page.length}`);
    }
  });

  it('are read one by one, so that the next shows what was deleted meanwhile', async () => {
    const store = await storeWithNames();
    const found: string[] = [];
    for await (const entries of pagesOf(store, prefixRange(prefix), { limit: 2, bytesMax: 99 })) {
      found.push(...textsOf(entries));
      await store.commit({ checks: [], puts: [], deletes: ['a', 'b', 'c'].map(keyOf) });
    }
    assert.deepEqual(found, ['a', 'b', 'd', 'e']);
  });
});
