import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  assertTidy,
  at,
  body,
  collected,
  openBlobs,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { engineNames, reopenableStore, type EngineName } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobService } from './blob-service.js';
import { pageBytes } from './page-blobs.js';
import type { ListedPages } from './page-lists.js';
import { costly } from '../../../test/support/run-length.js';

const pagesMax = 160;
const address = at('disk');

type Step =
  | { readonly kind: 'put' | 'clear'; readonly first: number; readonly count: number }
  | { readonly kind: 'resize'; readonly pages: number }
  | { readonly kind: 'snapshot' | 'settle' | 'create' }
  | { readonly kind: 'delete'; readonly which: number }
  | { readonly kind: 'look'; readonly which: number; readonly since: number };

const page = fc.nat(pagesMax - 1);
const range = { first: page, count: fc.oneof(fc.integer({ min: 1, max: 6 }), page) };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('put'), ...range }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('clear'), ...range }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resize'), pages: page }) },
  { weight: 4, arbitrary: fc.constant({ kind: 'snapshot' }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'settle' }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'create' }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('delete'), which: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('look'), which: fc.nat(5), since: fc.nat(5) }),
  },
);

/** The content of a page: the number of the write that put it there, 0 for zeros. */
type Pages = readonly number[];

interface Modelled {
  readonly micros: number;
  readonly pages: Pages;
  /** Counts Put Blob. */
  readonly life: number;
}

class Model {
  pages: Pages = Array.from({ length: pagesMax }, () => 0);
  snapshots: Modelled[] = [];
  life = 0;
  writes = 0;

  /** The bytes of a page: each write has its own. */
  bytesOf(pages: Pages): Buffer {
    return Buffer.concat(
      pages.map((write, index) =>
        write === 0 ? Buffer.alloc(pageBytes) : this.written(write, index, 1),
      ),
    );
  }

  written(write: number, first: number, count: number): Buffer {
    return sample(pagesMax * pageBytes, write).subarray(
      first * pageBytes,
      (first + count) * pageBytes,
    );
  }

  set(first: number, count: number, write: number): void {
    this.pages = this.pages.map((old, index) =>
      index >= first && index < first + count ? write : old,
    );
  }
}

/** Neighbours with the same answer, as ranges. */
function rangesOf(kinds: readonly (ListedPages['kind'] | undefined)[]): ListedPages[] {
  const ranges: ListedPages[] = [];
  for (const [index, kind] of kinds.entries()) {
    if (kind === undefined) continue;
    const first = index * pageBytes;
    const last = first + pageBytes - 1;
    const previous = ranges.at(-1);
    if (previous?.kind === kind && previous.last + 1 === first) {
      ranges[ranges.length - 1] = { ...previous, last };
    } else ranges.push({ kind, first, last });
  }
  return ranges;
}

async function listAll(
  blobs: BlobService,
  which: { readonly snapshotMicros?: number },
  sinceSnapshotMicros?: number,
): Promise<ListedPages[]> {
  const ranges: ListedPages[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const query = { from, limit: 3, sinceSnapshotMicros };
    const list = await blobs.getPageRanges({ ...address, ...which }, query);
    ranges.push(...list.ranges);
    from = list.next;
  }
  return ranges;
}

async function look(
  blobs: BlobService,
  model: Model,
  { which, since }: { readonly which: number; readonly since: number },
): Promise<void> {
  const snapshot = model.snapshots.toReversed()[which];
  const named = snapshot === undefined ? {} : { snapshotMicros: snapshot.micros };
  const pages = snapshot?.pages ?? model.pages;
  const read = await blobs.getBlob({ ...address, ...named });
  assert.ok((await collected(read.body)).equals(model.bytesOf(pages)), 'all of it');
  if (pages.length > 2) {
    const inside = { first: 700, last: pages.length * pageBytes - 300 };
    const part = await blobs.getBlob({ ...address, ...named }, { range: inside });
    const wanted = model.bytesOf(pages).subarray(inside.first, inside.last + 1);
    assert.ok((await collected(part.body)).equals(wanted), 'a part of it');
  }
  const written = pages.map((write) => (write === 0 ? undefined : ('written' as const)));
  assert.deepEqual(await listAll(blobs, named), rangesOf(written));

  const previous = model.snapshots[since];
  if (previous === undefined) return;
  const life = snapshot?.life ?? model.life;
  const isOlder = snapshot === undefined || previous.micros <= snapshot.micros;
  const diff = listAll(blobs, named, previous.micros);
  if (previous.life !== life) {
    await assert.rejects(diff, code('BlobOverwritten'));
  } else if (!isOlder) {
    await assert.rejects(diff, code('PreviousSnapshotCannotBeNewer'));
  } else {
    const changed = pages.map((write, index) => {
      const before = previous.pages[index] ?? 0;
      if (write === before) return undefined;
      return write === 0 ? 'cleared' : 'written';
    });
    assert.deepEqual(await diff, rangesOf(changed));
  }
}

const code = (wanted: string) => (error: unknown) =>
  error instanceof StorageError && error.code === wanted;

function create(blobs: BlobService): Promise<unknown> {
  const plain = { headers: {}, metadata: [], tags: [] };
  return blobs.putPageBlob(address, {
    ...plain,
    bytes: pagesMax * pageBytes,
    sequenceNumber: 0n,
  });
}

async function run(engine: EngineName, steps: readonly Step[]): Promise<void> {
  const clock = manualClock();
  await using opened = await reopenableStore[engine](clock);
  const world = await openBlobs(opened.store(), clock);
  const { blobs } = world;
  const model = new Model();
  await create(blobs);
  for (const each of steps) {
    clock.advanceMicros(1_000);
    switch (each.kind) {
      case 'put':
      case 'clear': {
        const count = Math.min(each.count, model.pages.length - each.first);
        if (count < 1) break;
        const start = each.first * pageBytes;
        const bounds = { start, end: start + count * pageBytes };
        if (each.kind === 'clear') {
          await blobs.clearPages(address, bounds);
          model.set(each.first, count, 0);
        } else {
          model.writes += 1;
          const bytes = model.written(model.writes, each.first, count);
          await blobs.putPages(address, bounds, { body: body(bytes) });
          model.set(each.first, count, model.writes);
        }
        break;
      }
      case 'resize':
        await blobs.changePageBlob(address, { bytes: each.pages * pageBytes });
        model.pages = Array.from({ length: each.pages }, (_, index) => model.pages[index] ?? 0);
        break;
      case 'snapshot': {
        const { snapshotMicros } = await blobs.snapshotBlob(address);
        const { pages, life } = model;
        model.snapshots.push({ micros: snapshotMicros, pages, life });
        break;
      }
      case 'create':
        await create(blobs);
        model.pages = Array.from({ length: pagesMax }, () => 0);
        model.life += 1;
        break;
      case 'delete': {
        const [gone] = model.snapshots.splice(each.which, 1);
        if (gone !== undefined) await blobs.deleteBlob({ ...address, snapshotMicros: gone.micros });
        break;
      }
      case 'settle':
        await settle(world);
        await assertTidy(world);
        break;
      case 'look':
        await look(blobs, model, each);
    }
  }
  await settle(world);
  await assertTidy(world);
  for (let which = 0; which <= model.snapshots.length; which += 1) {
    for (let since = 0; since < model.snapshots.length; since += 1) {
      await look(blobs, model, { which, since });
    }
  }
  await blobs.deleteBlob(address, { snapshots: 'include' });
  await settle(world);
  await assertTidy(world);
  assert.equal(world.content.ids.size, 0);
}

for (const engine of engineNames) {
  describe(`page blobs and their snapshots over ${engine}`, () => {
    it(
      'read, list and compare as plain arrays do, and leave nothing behind',
      costly(),
      async () => {
        const property = fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), (steps) =>
          run(engine, steps),
        );
        await fc.assert(property, { numRuns: engine === 'memory' ? 6 : 3 });
      },
    );
  });
}
