import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  collected,
  container,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { reopenableStore } from '../../../test/support/stores.js';
import { manualClock, type ManualClock } from '../../base/clock.js';
import { StoreBusyError } from '../../kv/errors.js';
import type { Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { garbageGraceMicros } from './blob-readers.js';
import { recordOf } from './blob-state.js';
import type { BlobService } from './blob-service.js';
import { Changes } from './changes.js';
import { containerPrefix } from '../containers/keys.js';
import { blobKind, BlobKeys } from './keys.js';
import { copiedRangesPerCommitMax } from './limits.js';
import { decodePageRange, encodePageRange, pageRangeKey } from './page-range.js';
import { costly } from '../../../test/support/run-length.js';

const pageBytes = 512;
/** Every other page is written, so that no two ranges are neighbours. */
const ranges = 2 * copiedRangesPerCommitMax + 10;
const bytes = 2 * pageBytes * ranges;
const pieceBytes = 65_536;
const sized = { headers: {}, metadata: [], tags: [], bytes, sequenceNumber: 0n };
const keys = new BlobKeys(containerPrefix('blob', account, 1), 'source');
const request = { source: at('source'), sourceUrl: 'http://h/x', tags: [] };

/** Makes a page blob whose ranges are parts of one piece: requests for each would take long. */
async function putSource(blobs: BlobService, store: Store): Promise<void> {
  await blobs.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
  await blobs.putPageBlob(at('source'), sized);
  const first = { start: 0, end: pieceBytes };
  await blobs.putPages(at('source'), first, { body: body(sample(pieceBytes)) });
  const content = recordOf(await store.get(keys.base))?.content;
  assert.ok(content !== undefined);
  const { entries } = await store.range(prefixRange(keys.group(blobKind.page, content.id)), {
    limit: 1,
    bytesMax: Infinity,
  });
  const [written] = entries;
  assert.ok(written !== undefined);
  const { piece } = decodePageRange(keys, written);
  const changes = new Changes();
  for (let index = 0; index < ranges; index += 1) {
    const range = {
      offset: 2 * pageBytes * index,
      bytes: pageBytes,
      piece,
      pieceStart: (pageBytes * index) % pieceBytes,
      writtenIn: 1,
      from: 1,
      until: undefined,
    };
    changes.put(pageRangeKey(keys, content.id, range), encodePageRange(range));
  }
  changes.add(keys.pieceReferences(piece), ranges - 1);
  await store.commit(changes.batch());
}

/** A service over a store that calls `before` before each large commit. */
async function setUp(clock: ManualClock, store: Store) {
  const hooks = { before: (): Promise<void> => Promise.resolve() };
  const commits = (inner: Store): Store => ({
    get: (key) => inner.get(key),
    getMany: (all) => inner.getMany(all),
    range: (range, options) => inner.range(range, options),
    close: () => inner.close(),
    async commit(batch) {
      if (batch.puts.length > 5) await hooks.before();
      return inner.commit(batch);
    },
  });
  const world = blobWorld(store, { clock, commits, count: 2 });
  const [blobs, beside] = world.services;
  assert.ok(blobs !== undefined && beside !== undefined);
  await putSource(blobs, store);
  return { ...world, blobs, beside, hooks };
}

/** Looks at the beginning, at the places where commits meet, and at the end. */
async function assertCopied(blobs: BlobService): Promise<void> {
  const part = 20 * pageBytes;
  const meeting = 2 * pageBytes * copiedRangesPerCommitMax;
  for (const first of [0, meeting - part / 2, 2 * meeting - part / 2, bytes - part]) {
    const range = { first, last: first + part - 1 };
    const [source, copy] = await Promise.all(
      ['source', 'copy'].map(async (name) =>
        collected((await blobs.getBlob(at(name), { range })).body),
      ),
    );
    assert.ok(source !== undefined && copy?.equals(source), `from ${first}`);
  }
}

describe('a copy of a page blob with many ranges', () => {
  it('takes several commits, and is there with the last', costly(), async () => {
    const clock = manualClock();
    await using opened = await reopenableStore.memory(clock);
    const world = await setUp(clock, opened.store());
    let commits = 0;
    world.hooks.before = async () => {
      commits += 1;
      await assert.rejects(world.blobs.getProperties(at('copy')), { code: 'BlobNotFound' });
    };
    await world.blobs.copyBlob(at('copy'), request);
    assert.equal(commits, 3);
    await assertCopied(world.blobs);
    await settle(world);
    await assertTidy(world);
  });

  it('that fails in the middle leaves nothing', costly(), async () => {
    const clock = manualClock();
    await using opened = await reopenableStore.memory(clock);
    const world = await setUp(clock, opened.store());
    let commits = 0;
    world.hooks.before = () => {
      commits += 1;
      return commits === 3 ? Promise.reject(new StoreBusyError()) : Promise.resolve();
    };
    await assert.rejects(world.blobs.copyBlob(at('copy'), request), StoreBusyError);
    world.hooks.before = () => Promise.resolve();
    for (let round = 0; round < 9; round += 1) await settle(world, 5_000);
    await assertTidy(world);
    assert.equal(world.content.ids.size, 1);
  });

  it('begins again when a sweep takes its first part for left', costly(), async () => {
    const clock = manualClock();
    await using opened = await reopenableStore.memory(clock);
    const world = await setUp(clock, opened.store());
    let commits = 0;
    world.hooks.before = async () => {
      commits += 1;
      if (commits !== 3) return;
      clock.advanceMicros(2 * garbageGraceMicros);
      for (let step = 0; step < 8; step += 1) await world.beside.reclaim({ entriesMax: 100 });
    };
    await world.blobs.copyBlob(at('copy'), request);
    assert.ok(commits > 3);
    await assertCopied(world.blobs);
    for (let round = 0; round < 9; round += 1) await settle(world, 5_000);
    await assertTidy(world);
  });
});
