import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  container,
  plain,
  readAll,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { byLength, costly, drawn } from '../../../test/support/run-length.js';
import { engineNames, openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { nameOfBytes } from '../../base/bytes.js';
import { CommitUnknownError } from '../../kv/errors.js';
import type { CommitBatch, Store } from '../../kv/store.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobService } from './blob-service.js';
import type { ForeignSource } from './foreign-blob.js';
import { referencedExtents } from './referenced-extents.js';
import { BlobKeys } from './keys.js';
import { Containers } from '../containers/containers.js';
import { containerPrefix } from '../containers/keys.js';
import { containerKind } from './container-record.js';
import type { BlobAddress, SnapshotAddress } from './types.js';

const address = at('b');
const [other, disk, mirror] = [at('c'), at('d'), at('i')];

/**
 * A process that dies at a commit, before or after it was made. Nothing of it happens any more: it
 * may not clean up either, so it is told that the outcome is unknown.
 */
class Crash extends CommitUnknownError {}

interface Plan {
  /** Dies at the commit of this number, from 1; never when 0. */
  at: number;
  /** Whether that commit was made. */
  made: boolean;
}

function dying(store: Store, plan: Plan): Store {
  let count = 0;
  const check = (): void => {
    if (plan.at > 0 && count >= plan.at) throw new Crash('the process has died');
  };
  return {
    async get(key) {
      check();
      return store.get(key);
    },
    async getMany(keys) {
      check();
      return store.getMany(keys);
    },
    async range(range, options) {
      check();
      return store.range(range, options);
    },
    async commit(batch: CommitBatch) {
      check();
      count += 1;
      if (plan.at !== count) return store.commit(batch);
      if (plan.made) await store.commit(batch);
      throw new Crash('the process has died');
    },
    close: () => store.close(),
  };
}

async function put(blobs: BlobService, bytes: Buffer): Promise<void> {
  await blobs.putBlockBlob(address, plain, { body: body(bytes) });
}

async function putBlocks(blobs: BlobService, seed: number): Promise<void> {
  for (const id of ['1', '2', '3', '4', '5', '6']) {
    const bytes = sample(33_000, seed + Number(id));
    await blobs.putBlock(address, { id: Buffer.from(id) }, { body: body(bytes) });
  }
  const blocks = ['6', '5', '4', '3', '2', '1', '1'].map((id) => ({
    source: 'latest' as const,
    id: Buffer.from(id),
  }));
  await blobs.putBlockList(address, { ...plain, blocks });
}

/** A page blob of another server. */
const foreign: ForeignSource = {
  blob: {
    headers: {},
    metadata: [],
    tags: [],
    append: undefined,
    kind: 'page',
    bytes: 200 * 512,
    sequenceNumber: 0n,
  },
  blocks: () => Promise.resolve([]),
  pages: () =>
    Promise.resolve([
      { start: 0, end: 40_960 },
      { start: 81_920, end: 82_432 },
    ]),
  read: ({ start, end }) => body(sample(end - start, start)),
};

/** Done, or refused with this code. */
async function refused(work: Promise<unknown>, code: ErrorCode): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    if (error instanceof StorageError && error.code === code) return true;
    throw error;
  }
}

const timeText = (micros: number) => new Date(micros / 1000).toISOString();

/** Copies of every kind, from blobs and snapshots that go. */
async function copies(blobs: BlobService, advance: () => void): Promise<void> {
  const sourceUrl = 'http://h/cont/b';
  const copy = (source: SnapshotAddress, target: BlobAddress) =>
    blobs.copyBlob(target, { source, sourceUrl, tags: [] });
  await putBlocks(blobs, 1);
  await copy(address, other);
  const { snapshotMicros } = await blobs.snapshotBlob(address);
  await put(blobs, sample(50_000, 2));
  await copy({ ...address, snapshotMicros }, other);
  await copy({ ...address, snapshotMicros }, address);
  await blobs.deleteBlob(address, { snapshots: 'include' });
  await blobs.putBlock(address, { id: Buffer.from('1') }, { body: body(sample(40_000)) });
  await refused(blobs.undeleteBlob(address), 'BlobNotFound');
  await blobs.copyForeign(disk, { source: foreign, request: { sourceUrl, tags: [] } });
  const of = (moment: { readonly snapshotMicros: number }) => ({
    source: { ...disk, snapshotMicros: moment.snapshotMicros },
    sourceUrl: `${sourceUrl}?snapshot=${timeText(moment.snapshotMicros)}`,
  });
  await blobs.copyIncrementally(mirror, of(await blobs.snapshotBlob(disk)));
  await blobs.putPages(disk, { start: 512, end: 1024 }, { body: body(sample(512, 3)) });
  await copy(disk, at('p'));
  await blobs.copyIncrementally(mirror, of(await blobs.snapshotBlob(disk)));
  advance();
  for (let step = 0; step < 20; step += 1) await blobs.reclaim({ entriesMax: 3 });
  for (const each of [address, other, disk, mirror]) {
    await blobs.deleteBlob(each, { snapshots: 'include' });
  }
  advance();
  for (let step = 0; step < 20; step += 1) await blobs.reclaim({ entriesMax: 3 });
}

const kinds = [
  { what: 'of what is written', work, options: {}, deathsMin: 30 },
  { what: 'of copies', work: copies, options: {}, deathsMin: 20 },
  {
    what: 'of copies where everything is kept',
    work: copies,
    options: {
      versioning: () => true,
      retention: () => Promise.resolve({ enabled: true, days: 1, allowPermanentDelete: true }),
    },
    deathsMin: 20,
  },
] as const;

/** The work of a process until it dies. */
async function work(blobs: BlobService, advance: () => void): Promise<void> {
  await put(blobs, sample(100_000, 1));
  await putBlocks(blobs, 2);
  await put(blobs, sample(10, 3));
  await putBlocks(blobs, 4);
  await blobs.putBlockList(address, {
    ...plain,
    blocks: [{ source: 'committed', id: Buffer.from('1') }],
  });
  advance();
  for (let step = 0; step < 20; step += 1) await blobs.reclaim({ entriesMax: 3 });
  await blobs.deleteBlob(address);
  advance();
  for (let step = 0; step < 20; step += 1) await blobs.reclaim({ entriesMax: 3 });
  await put(blobs, sample(40_000, 5));
}

async function isThere(blobs: BlobService): Promise<boolean> {
  return !(await refused(readAll(blobs, address), 'BlobNotFound'));
}

/** The blobs that there are, with their lengths, each read to its end. */
async function found(blobs: BlobService): Promise<string> {
  const query = { snapshots: true, versions: true, uncommitted: false, deleted: false };
  const { items } = await blobs.listBlobs({ account, container }, { ...query, limit: 1000 });
  const lines: string[] = [];
  for (const item of items) {
    assert.ok(item.kind === 'blob');
    const { name, snapshotMicros, version } = item;
    const moment = {
      ...(snapshotMicros !== undefined && { snapshotMicros }),
      ...(version?.isCurrent === false && { versionMicros: version.micros }),
    };
    const read = readAll(blobs, { ...at(name), ...moment });
    // Of what incremental copies have made, snapshots alone are read.
    const isUnread = await refused(read, 'OperationNotAllowedOnIncrementalCopyBlob');
    const length = isUnread ? 'unread' : (await read).length;
    lines.push(`${name} ${snapshotMicros ?? version?.micros ?? ''} ${length}`);
  }
  return lines.join('\n');
}

describe('a process that dies', () => {
  for (const { what, work: does, options, deathsMin } of kinds) {
    for (const made of [false, true]) {
      const name = `at a commit ${what} that was ${made ? '' : 'not '}made leaves nothing behind`;
      it(name, costly(), async (t) => {
        let died = 0;
        // The short form dies at some commits of copies, which are drawn.
        const step = does === work ? 1 : byLength({ short: 6, long: 1 });
        for (let at = 1 + drawn(step); ; at += step) {
          const clock = manualClock();
          const store = await openTestStore('memory', t, clock);
          const plan: Plan = { at: 0, made };
          const commits = (inner: Store) => dying(inner, plan);
          const world = blobWorld(store, { clock, commits, ...options });
          const [blobs] = world.services;
          assert.ok(blobs !== undefined);
          await blobs.containers.create(
            { account, container },
            { metadata: [], publicAccess: 'none' },
          );
          plan.at = at + 3;
          try {
            await does(blobs, () => clock.advanceMicros(31_000_000));
            break;
          } catch (error) {
            assert.ok(error instanceof CommitUnknownError, String(error));
          }
          died += 1;
          plan.at = 0;
          // The next process finds the data of the last one, and reads all named content. Extents
          // of the dead session no longer wait for a commit.
          world.content.confirm([...world.content.ids]);
          await world.content.suspectAll();
          try {
            const before = await found(blobs);
            await settle(world);
            await assertTidy(world);
            assert.equal(await found(blobs), before);
          } catch (error) {
            throw new Error(`dead at commit ${at}`, { cause: error });
          }
        }
        assert.ok(died * step >= deathsMin, `${died} deaths`);
      });
    }
  }
});

for (const engine of engineNames) {
  describe(`writers at the same time over ${engine}`, () => {
    it('lose no update that they make under a condition', async (t) => {
      const clock = manualClock();
      const world = blobWorld(await openTestStore(engine, t, clock), { clock, count: 3 });
      const [first] = world.services;
      assert.ok(first !== undefined);
      await first.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
      await first.putBlockBlob(address, { ...plain, metadata: [['n', '0']] }, { body: body('') });
      const increment = async (blobs: BlobService): Promise<void> => {
        for (;;) {
          const { metadata, modifiedMicros } = await blobs.getProperties(address);
          const next = `${Number(metadata[0]?.[1]) + 1}`;
          const conditions = { ifMatch: [modifiedMicros] };
          try {
            await blobs.setMetadata(address, [['n', next]], { conditions });
            return;
          } catch (error) {
            assert.ok(error instanceof StorageError && error.code === 'ConditionNotMet');
          }
        }
      };
      await Promise.all(
        world.services.flatMap((blobs) => Array.from({ length: 10 }, () => increment(blobs))),
      );
      assert.equal((await first.getProperties(address)).metadata[0]?.[1], '30');
    });

    it('leave one of what they wrote, whole, and nothing else', costly(), async (t) => {
      const clock = manualClock();
      const world = blobWorld(await openTestStore(engine, t, clock), { clock, count: 2 });
      const [first] = world.services;
      assert.ok(first !== undefined);
      await first.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
      const seeds = Array.from({ length: 12 }, (_, index) => index + 1);
      const sweeping = (async () => {
        for (let step = 0; step < 60; step += 1) {
          clock.advanceMicros(2_000_000);
          for (const blobs of world.services) await blobs.reclaim({ entriesMax: 10 });
        }
      })();
      await Promise.all(
        seeds.map(async (seed) => {
          const blobs = world.services[seed % 2] ?? first;
          if (seed % 3 === 0) await putBlocks(blobs, seed).catch(expectConflict);
          else if (seed % 3 === 1) await put(blobs, sample(50_000 + seed, seed));
          else await blobs.deleteBlob(address).catch(expectConflict);
        }),
      );
      await sweeping;
      if (await isThere(first)) {
        const content = await readAll(first, address);
        const { bytes } = await first.getProperties(address);
        assert.equal(content.length, bytes);
      }
      await settle(world);
      await assertTidy(world);
    });

    it('create a blob once when they demand that there is none', async (t) => {
      const clock = manualClock();
      const world = blobWorld(await openTestStore(engine, t, clock), { clock, count: 2 });
      const [first] = world.services;
      assert.ok(first !== undefined);
      await first.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) =>
          (world.services[index % 2] ?? first).putBlockBlob(address, plain, {
            body: body(sample(40_000, index)),
            conditions: { ifNoneMatch: 'any' },
          }),
        ),
      );
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal(world.content.ids.size, 1, 'the others have freed what they stored');
    });
  });
}

describe('a block that is put while a list is committed', () => {
  for (const replaced of [false, true]) {
    it(`is neither lost nor left behind ${replaced ? 'when it replaces one of the list' : ''}`, async (t) => {
      const clock = manualClock();
      let beside: (() => Promise<void>) | undefined;
      const interrupted = (store: Store): Store => ({
        ...dying(store, { at: 0, made: false }),
        async commit(batch) {
          const action = beside;
          beside = undefined;
          await action?.();
          return store.commit(batch);
        },
      });
      const store = await openTestStore('memory', t, clock);
      const world = blobWorld(store, { clock, commits: interrupted });
      const [blobs] = world.services;
      assert.ok(blobs !== undefined);
      await blobs.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
      const block = (id: string, seed: number) =>
        blobs.putBlock(address, { id: Buffer.from(id) }, { body: body(sample(40_000, seed)) });
      await block('1', 1);
      await block('2', 2);
      beside = () => block(replaced ? '2' : '3', 3);
      const blocks = [{ source: 'latest' as const, id: Buffer.from('2') }];
      await blobs.putBlockList(address, { ...plain, blocks });
      assert.equal(beside, undefined);
      await settle(world);
      await assertTidy(world);
      const wanted = sample(40_000, replaced ? 3 : 2);
      assert.ok((await readAll(blobs, address)).equals(wanted));
    });
  }
});

/** Others have committed, or deleted, the blocks or the blob. */
function expectConflict(error: unknown): void {
  assert.ok(error instanceof StorageError, String(error));
  assert.ok(['InvalidBlockList', 'BlobNotFound'].includes(error.code), error.code);
}

describe('the extents that a blob names', () => {
  it('are those of its record, blocks, chunks and of what waits to be freed', async (t) => {
    const clock = manualClock();
    const world = blobWorld(await openTestStore('memory', t, clock), { clock });
    const [blobs] = world.services;
    assert.ok(blobs !== undefined);
    await blobs.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
    await putBlocks(blobs, 1);
    await blobs.putBlock(address, { id: Buffer.from('7') }, { body: body(sample(40_000)) });
    await blobs.putBlock(address, { id: Buffer.from('7') }, { body: body(sample(50_000)) });
    const { id } = (await containerIds(world.store))[0] ?? { id: 0 };
    const keys = new BlobKeys(containerPrefix('blob', account, id), 'b');
    const all = [...world.content.ids];
    assert.equal(all.length, 8);
    const named = await referencedExtents(world.store)(keys.partition, [...all, 'other']);
    assert.deepEqual([...named].toSorted(), all.toSorted());
    const other = new BlobKeys(containerPrefix('blob', account, id), 'b2');
    assert.equal((await referencedExtents(world.store)(other.partition, all)).size, 0);
  });

  it('count as named while the blob does not stand still', async (t) => {
    const clock = manualClock();
    const store = await openTestStore('memory', t, clock);
    const keys = new BlobKeys(containerPrefix('blob', account, 1), 'b');
    let version = 0;
    const moving: Store = {
      get: async (key) => ({ key, value: Buffer.alloc(0), version: (version += 1) }),
      getMany: (wanted) => store.getMany(wanted),
      range: (range, options) => store.range(range, options),
      commit: (batch) => store.commit(batch),
      close: () => store.close(),
    };
    const named = await referencedExtents(moving)(keys.partition, ['e1']);
    assert.deepEqual([...named], ['e1'], nameOfBytes(keys.partition));
  });
});

async function containerIds(store: Store) {
  const ids: { readonly id: number }[] = [];
  const containers = new Containers(store, containerKind);
  for await (const found of containers.all()) ids.push(found);
  return ids;
}
