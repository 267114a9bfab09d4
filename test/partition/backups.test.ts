import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemTimers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import type { Entry } from '../../src/kv/store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString, prefixRange } from '../../src/kv/tuple.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { dirtyRows } from '../../src/partition/keys.js';
import { Members } from '../../src/partition/members.js';
import { NoRoomError } from '../../src/partition/operations/room.js';
import { BackupTooSlowError, UndoneError } from '../../src/partition/operations/tools.js';
import type { BeginResult } from '../../src/partition/operations/operations.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { verify } from '../../src/partition/verify.js';
import { memberDisk } from '../support/member-disk.js';
import { admitted, membersOf, operationsOver } from './composed-stores.js';
import { deferred } from '../../src/base/async/deferred.js';

const prefix = partitionPrefix('tables', 'account', 1, 'p');
const keyOf = (name: string) => appendString(prefix, name);
const names = Array.from({ length: 250 }, (_, index) => String(1_000 + index));
const all = prefixRange(prefix);
const whole = { limit: 10_000, bytesMax: 1 << 30 } as const;

/** A key space of one range with entries in two stores' reach. */
async function world() {
  const clock = manualClock();
  const stores = [await openMemoryStore({ clock }), await openMemoryStore({ clock })];
  const members = await admitted(membersOf(stores));
  const options = { members, clock, timers: systemTimers, randomness: systemRandomness };
  const store = await openPartitionedStore(options);
  await put(store, names);
  const catalogue = new Catalogue(members.home);
  const [range] = (await catalogue.map()).ranges;
  assert.ok(range !== undefined);
  const operations = operationsOver(members, clock);
  const target = await openMemoryStore({ clock });
  const findings = () => verify({ catalogue, members, clock, timers: systemTimers });
  return { clock, members, store, operations, range: range.id, target, findings };
}

type Store = Awaited<ReturnType<typeof openPartitionedStore>>;

async function put(store: Store, keys: readonly string[], deleted: readonly string[] = []) {
  const puts = keys.map((name) => ({ key: keyOf(name), value: Buffer.from(`value of ${name}`) }));
  await store.commit({ checks: [], puts, deletes: deleted.map(keyOf) });
}

function operationOf(begun: BeginResult): number {
  assert.ok(begun.ok, JSON.stringify(begun));
  return begun.operation;
}

async function* pagesOf(...pages: readonly (readonly Entry[])[]) {
  yield* pages;
}

void describe('a backup of a range', () => {
  void it('has what was committed while it was made, and nothing that was deleted', async () => {
    const { store, operations, range, target } = await world();
    let isWritten = false;
    const written = new Proxy(target, {
      get(from, name) {
        const found: unknown = Reflect.get(from, name, from);
        if (typeof found !== 'function') return found;
        return async (...given: unknown[]) => {
          if (name === 'ingest' && !isWritten) {
            isWritten = true;
            await put(store, ['0999', '1000', '9999'], ['1001']);
          }
          return Reflect.apply(found, from, given) as unknown;
        };
      },
    });
    await operations.backUp(operationOf(await operations.beginBackup(range)), written);
    const expected = await store.range(all, whole);
    assert.deepEqual((await target.range(all, whole)).entries, expected.entries);
    assert.equal(expected.entries.length, names.length + 1);
    await put(store, ['after']);
  });

  void it('that writes are too fast for ends, and leaves the range as it is', async () => {
    const { clock, members, store, operations, range, target, findings } = await world();
    let writes = 0;
    const overtaken = Object.create(target) as typeof target;
    overtaken.get = (key) => target.get(key);
    overtaken.ingest = async (ingestion) => {
      await target.ingest(ingestion);
      // A copy that did not give up would come to its end after these.
      for (let each = 0; each < 4 && writes < 2_000; each += 1) {
        writes += 1;
        await put(store, [String(1_000 + (writes % names.length))]);
      }
    };
    const limits = { dirtyRowsMax: 100 };
    const slow = operationsOver(members, clock, { pageEntriesMax: 1, limits });
    const operation = operationOf(await operations.beginBackup(range));
    await assert.rejects(slow.backUp(operation, overtaken), (error: Error) => {
      assert.ok(error instanceof BackupTooSlowError, String(error));
      assert.match(error.message, /more than 100 writes came .* Split the range/);
      return true;
    });
    assert.ok(writes < 2_000, `${writes} writes`);
    assert.deepEqual((await members.home.range(dirtyRows(range), whole)).entries, []);
    assert.deepEqual(await findings(), []);
    await put(store, ['after']);
  });

  void it('copies what is written before the copy has come to its end', async () => {
    const { clock, members, store, operations, range, target } = await world();
    const followed: number[] = [];
    let isWritten = false;
    const seen = Object.create(target) as typeof target;
    seen.get = (key) => target.get(key);
    seen.ingest = async (ingestion) => {
      followed.push(ingestion.entries.length);
      await target.ingest(ingestion);
      if (isWritten) return;
      isWritten = true;
      await put(store, ['0999', '1249', '9999'], ['1000', '1248']);
    };
    const small = operationsOver(members, clock, { pageEntriesMax: 2 });
    await small.backUp(operationOf(await operations.beginBackup(range)), seen);
    const expected = await store.range(all, whole);
    assert.deepEqual((await target.range(all, whole)).entries, expected.entries);
    // Pages have two entries and the progress; behind 64 of them comes what was written.
    assert.ok(followed.indexOf(3, 65) > 0 && followed.indexOf(2) === 64, followed.join());
  });

  void it('whose process is gone leaves the range as it is', async () => {
    const { members, store, operations, range, target, findings } = await world();
    const operation = operationOf(await operations.beginBackup(range));
    const { promise: isReached, resolve: reached } = deferred();
    const { promise: isAwake, resolve: wake } = deferred();
    const stuck = Object.create(target) as typeof target;
    stuck.get = (key) => target.get(key);
    stuck.ingest = async (ingestion) => {
      reached();
      await isAwake;
      return target.ingest(ingestion);
    };
    const asleep = operations.backUp(operation, stuck);
    await isReached;
    await put(store, ['noted']);
    assert.equal(await operations.carryOut(operation), 'cancelled');
    assert.deepEqual((await members.home.range(dirtyRows(range), whole)).entries, []);
    assert.equal((await store.range(all, whole)).entries.length, names.length + 1);
    assert.deepEqual(await findings(), []);
    wake();
    await assert.rejects(asleep, UndoneError);
  });
});

void describe('a restore of a range', () => {
  void it('brings versions back, and later ones exceed all of the backup', async () => {
    const { store, operations, range, target } = await world();
    await operations.backUp(operationOf(await operations.beginBackup(range)), target);
    const { entries } = await target.range(all, whole);
    const full = await operations.beginRestore(range);
    assert.deepEqual(full, { ok: false, refusal: 'the range has entries' });
    await put(store, [], names);
    const floor = (await target.lastVersion()) + 5_000_000;
    const operation = operationOf(await operations.beginRestore(range));
    await operations.restore(operation, {
      pages: pagesOf(entries.slice(0, 100), entries.slice(100)),
      floor,
    });
    assert.deepEqual((await store.range(all, whole)).entries, entries);
    await put(store, ['later']);
    assert.ok(((await store.get(keyOf('later')))?.version ?? 0) > floor);
  });

  void it('ends where the disk gets full but for its reserve, and leaves an empty range', async () => {
    const { clock, members, store, operations, range, target, findings } = await world();
    await operations.backUp(operationOf(await operations.beginBackup(range)), target);
    const { entries } = await target.range(all, whole);
    await put(store, [], names);
    const diskOf = () => memberDisk(() => true);
    const full = new Members('s0', new Map([['s0', members.home]]), { diskOf });
    const operation = operationOf(await operations.beginRestore(range));
    const restored = operationsOver(full, clock).restore(operation, {
      pages: pagesOf(entries),
      floor: 0,
    });
    await assert.rejects(restored, NoRoomError);
    assert.equal((await store.range(all, whole)).entries.length, 0);
    await put(store, ['again']);
    assert.deepEqual(await findings(), []);
  });

  void it('that does not come to its end leaves an empty range that serves', async () => {
    const { store, operations, range, target, findings } = await world();
    await operations.backUp(operationOf(await operations.beginBackup(range)), target);
    const { entries } = await target.range(all, whole);
    await put(store, [], names);
    const { promise: isReached, resolve: reached } = deferred();
    async function* stuck() {
      yield entries;
      reached();
      await new Promise(() => undefined);
    }
    const left = operationOf(await operations.beginRestore(range));
    void operations.restore(left, { pages: stuck(), floor: 0 });
    await isReached;
    assert.equal(await operations.cancel(left), true);
    assert.equal((await store.range(all, whole)).entries.length, 0);
    async function* broken(): AsyncGenerator<readonly Entry[]> {
      yield entries;
      throw new Error('the backup cannot be read');
    }
    const failed = operationOf(await operations.beginRestore(range));
    const restored = () => operations.restore(failed, { pages: broken(), floor: 0 });
    await assert.rejects(restored, /cannot be read/);
    assert.equal((await store.range(all, whole)).entries.length, 0);
    await put(store, ['again']);
    assert.deepEqual(await findings(), []);
  });
});
