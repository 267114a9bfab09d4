import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { temporaryLocation, spawnLmdbStore } from '../../../../test/support/engine-lmdb.js';
import { byLength, costly } from '../../../../test/support/run-length.js';
import { it } from '../../../base/conformance/limited-test.js';
import { systemClock } from '../../../base/clock.js';
import { compareBytes, type Bytes } from '../../../base/bytes.js';
import { StoreDamagedError } from '../../../kv/errors.js';
import type { Entry, KeyRange, Put, RangeOptions } from '../../../kv/store.js';
import { pageBytes } from '../check/page.js';
import { dataFile } from '../directory/file-kinds.js';
import { lockFileOf, openEnvironment } from '../environment.js';
import { GroupWriter, lastVersionKey } from '../group-writer.js';
import { openLmdbStore, type LmdbStore } from '../store.js';
import { writeAtOnce } from '../write-transaction.js';
import { MappedEntries } from './mapped-entries.js';
import { MalformedTreeError } from './malformed-tree-error.js';
import { MappedRows } from './mapped-rows.js';
import { VerifiedPages } from './verified-pages.js';

const everything: RangeOptions = { limit: Infinity, bytesMax: Infinity };
/** The flags of a page, in it. */
const flagsAt = 18;
const isToldMaps = process.platform === 'linux';

async function openStore(t: TestContext): Promise<{ store: LmdbStore; directory: string }> {
  const { directory, remove } = await temporaryLocation();
  const store = await openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
  t.after(async () => {
    await store.close();
    await remove();
  });
  return { store, directory };
}

async function put(store: LmdbStore, puts: readonly Put[], deletes: readonly Bytes[] = []) {
  const result = await store.commit({ checks: [], puts, deletes });
  assert.ok(result.ok);
}

/** Entries backwards: the package reads these with its own cursor. */
async function ofPackage(store: LmdbStore, range: KeyRange): Promise<readonly Entry[]> {
  const { entries } = await store.range(range, { ...everything, reverse: true });
  return entries.toReversed();
}

/** Keys that share beginnings, also with bounds, and values in a leaf and beyond. */
const keys = fc
  .tuple(
    fc.constantFrom('a', 'ab', 'b', 'b'.repeat(300), 'c'.repeat(3_900)),
    fc.uint8Array({ maxLength: 3 }),
  )
  .map(([text, rest]): Bytes => Buffer.concat([Buffer.from(text), rest]));
const values = fc
  .tuple(fc.constantFrom(0, 1, 700, 3_900, 4_100, 9_000, 70_000), fc.integer({ min: 0, max: 255 }))
  .map(([length, filling]): Bytes => Buffer.alloc(length, filling));

void describe('ranges of mapped pages', () => {
  it(
    'have what the cursor of the package has, whatever was written and deleted',
    costly(),
    async (t) => {
      const { store } = await openStore(t);
      const commits = fc.array(fc.tuple(keys, values, fc.boolean()), {
        minLength: 1,
        maxLength: 40,
      });
      await fc.assert(
        fc.asyncProperty(commits, keys, fc.option(keys), async (changes, start, end) => {
          const last = new Map(changes.map((each) => [String(each[0]), each]));
          const all = [...last.values()];
          await put(
            store,
            all.flatMap(([key, value, isPut]) => (isPut ? [{ key, value }] : [])),
            all.flatMap(([key, , isPut]) => (isPut ? [] : [key])),
          );
          for (const range of [
            { start: Buffer.alloc(0) },
            end === null ? { start } : { start, end },
          ]) {
            const { entries } = await store.range(range, everything);
            assert.deepEqual(entries, await ofPackage(store, range));
          }
        }),
        { numRuns: byLength({ short: 60, long: 600 }) },
      );
    },
  );

  it('go on over the pages of a tree of several levels, from any key on', async (t) => {
    const { store } = await openStore(t);
    const rows = 3_000;
    const keyOf = (row: number) => Buffer.from(`${'k'.repeat(500)}${String(row).padStart(6, '0')}`);
    for (let row = 0; row < rows; row += 500) {
      const numbers = Array.from({ length: 500 }, (_, index) => row + index);
      await put(
        store,
        numbers.map((each) => ({ key: keyOf(2 * each), value: Buffer.alloc(each % 900, each) })),
      );
    }
    for (let row = 0; row < 2 * rows; row += 97) {
      const range = { start: keyOf(row), end: keyOf(row + 333) };
      const { entries } = await store.range(range, everything);
      assert.equal(entries.length, Math.min(rows, Math.ceil((row + 333) / 2)) - Math.ceil(row / 2));
      assert.deepEqual(entries, await ofPackage(store, range));
    }
  });

  it(
    'show each commit of another process as soon as it is acknowledged, whole',
    costly(),
    async (t) => {
      const { store, directory } = await openStore(t);
      await put(store, [{ key: Buffer.from('first'), value: Buffer.alloc(0) }]);
      const other = await spawnLmdbStore(directory, 'join');
      t.after(() => other.kill());
      const key = (name: string) => Buffer.from(name);
      for (let round = 0; round < byLength({ short: 200, long: 2_000 }); round += 1) {
        const value = Buffer.alloc(2_000, round);
        const puts = ['p1', 'p2', 'p3'].map((name) => ({ key: key(name), value }));
        const isSeen = other.store.commit({ checks: [], puts, deletes: [] });
        // Reads while the commit is under way see all of it or nothing.
        const state = { isDone: false };
        const done = isSeen.then(() => (state.isDone = true));
        while (!state.isDone) {
          const { entries } = await store.range({ start: key('p'), end: key('q') }, everything);
          assert.ok(new Set(entries.map((each) => `${each.version} ${each.value[0]}`)).size <= 1);
          await new Promise(setImmediate);
        }
        await done;
        const { entries } = await store.range({ start: key('p'), end: key('q') }, everything);
        assert.deepEqual(
          entries.map((each) => each.value),
          puts.map((each) => each.value),
        );
      }
    },
  );

  it('go on while the file outgrows its map', costly(), async (t) => {
    const { store } = await openStore(t);
    let written: Bytes[] = [];
    for (let step = 0; step < 60; step += 1) {
      const key = Buffer.from(`row ${String(step).padStart(3, '0')}`);
      await put(store, [{ key, value: Buffer.alloc(1 << 20, step) }]);
      written = [...written, key].toSorted(compareBytes);
      const { entries } = await store.range({ start: Buffer.from('row') }, everything);
      assert.deepEqual(
        entries.map((each) => each.key),
        written,
      );
    }
  });
});

void describe('the newest snapshot of mapped entries', { skip: !isToldMaps }, () => {
  async function setUp(t: TestContext) {
    const { directory, remove } = await temporaryLocation();
    // A store makes the directory and its files.
    await (await openLmdbStore({ directory, clock: systemClock })).close();
    const environment = openEnvironment(directory, { sync: false });
    const { database: meta } = environment.meta;
    const lockFile = lockFileOf(directory);
    const verified = new VerifiedPages(systemClock);
    const mapped = new MappedEntries({ meta, key: lastVersionKey, lockFile, verified });
    const writer = new GroupWriter(environment, systemClock);
    const commit = (name: string) =>
      writeAtOnce(environment.root, () => {
        const puts = [{ key: Buffer.from(name), value: Buffer.from(name) }];
        writer.apply([{ kind: 'commit', batch: { checks: [], puts, deletes: [] } }]);
      });
    t.after(async () => {
      await environment.root.close();
      await remove();
    });
    return { mapped, commit };
  }

  it('is there from the first commit on', async (t) => {
    const { mapped, commit } = await setUp(t);
    assert.equal(mapped.open(), undefined);
    commit('a');
    const rows = mapped.open()?.rows({ start: Buffer.alloc(0) });
    assert.ok(rows instanceof MappedRows);
    assert.ok(rows.next());
    assert.equal(Buffer.from(rows.row.key).toString(), 'a');
    assert.equal(typeof mapped.open()?.row(Buffer.from('a'))?.version, 'number');
    assert.equal(mapped.open()?.row(Buffer.from('b')), undefined);
    assert.ok(!rows.next());
  });
});

void describe('a page that is not what a tree has', () => {
  it('is told as damage of the file', async (t) => {
    const { store, directory } = await openStore(t);
    const value = Buffer.from('a value that is found in the file');
    await put(store, [{ key: Buffer.from('k'), value }]);
    const path = join(directory, dataFile);
    const at = readFileSync(path).indexOf(value);
    assert.ok(at > 0, 'the value is in the file');
    const file = await open(path, 'r+');
    await file.write(Buffer.alloc(2), 0, 2, at - (at % pageBytes) + flagsAt);
    await file.close();
    await assert.rejects(store.range({ start: Buffer.from('a') }, everything), StoreDamagedError);
  });

  it('is refused wherever a tree begins', async () => {
    const memory = new ArrayBuffer(3 * pageBytes);
    const words = new Uint16Array(memory);
    const window = { memory, bytes: new Uint8Array(memory), words, numbers: new DataView(memory) };
    const pages = {
      count: 3,
      windowOf: () => window,
      offsetOf: (page: number) => page * pageBytes,
    };
    const verified = new VerifiedPages(systemClock);
    for (const root of [0, 1, 2, 3, 2 ** 40]) {
      const tree = { pages, root, depth: 1, lastPage: 2, verified };
      assert.throws(() => new MappedRows(tree, { start: Buffer.alloc(0) }), MalformedTreeError);
    }
  });
});
