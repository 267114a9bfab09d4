import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  collected,
  container,
  openBlobs,
  plain,
  readAll,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import {
  engineNames,
  openTestStore,
  reopenableStore,
  type EngineName,
} from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobService } from './blob-service.js';
import { attemptsMax, chunkSegmentsMax } from './limits.js';
import { costly } from '../../../test/support/run-length.js';

const address = at('log');

const code = (wanted: string) => (error: unknown) =>
  error instanceof StorageError && error.code === wanted;

async function setUp(engine: EngineName, t: TestContext) {
  const clock = manualClock();
  return openBlobs(await openTestStore(engine, t, clock), clock);
}

const append = (blobs: BlobService, bytes: Buffer | string) =>
  blobs.appendBlock(address, { body: body(bytes) });

type Step =
  | { readonly kind: 'append'; readonly bytes: number; readonly times: number }
  | { readonly kind: 'snapshot' | 'create' | 'settle' }
  | { readonly kind: 'delete' | 'read'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      bytes: fc.constantFrom(1, 10, 1_000, 40_000),
      times: fc.constantFrom(1, 1, 2, 3, 7),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('snapshot' as const) }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ kind: 'create' as const }, { kind: 'settle' as const }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('delete', 'read'), which: fc.nat(4) }),
  },
);

async function run(engine: EngineName, steps: readonly Step[]): Promise<void> {
  const clock = manualClock();
  await using opened = await reopenableStore[engine](clock);
  const world = await openBlobs(opened.store(), clock);
  const { blobs } = world;
  let model = Buffer.alloc(0);
  const snapshots: { readonly snapshotMicros: number; readonly bytes: Buffer }[] = [];
  await blobs.putAppendBlob(address, plain);
  const read = async (which: number): Promise<void> => {
    const snapshot = snapshots[which];
    const named = snapshot && { snapshotMicros: snapshot.snapshotMicros };
    const wanted = snapshot?.bytes ?? model;
    const whole = await blobs.getBlob({ ...address, ...named });
    assert.ok((await collected(whole.body)).equals(wanted));
    if (wanted.length < 3) return;
    const range = { first: wanted.length >> 1, last: wanted.length - 2 };
    const part = await blobs.getBlob({ ...address, ...named }, { range });
    assert.ok((await collected(part.body)).equals(wanted.subarray(range.first, -1)));
  };
  for (const [index, each] of steps.entries()) {
    clock.advanceMicros(1_000);
    switch (each.kind) {
      case 'append':
        for (let time = 0; time < each.times; time += 1) {
          const bytes = sample(each.bytes, index + time);
          const { offset } = await append(blobs, bytes);
          assert.equal(offset, model.length);
          model = Buffer.concat([model, bytes]);
        }
        break;
      case 'snapshot': {
        const { snapshotMicros } = await blobs.snapshotBlob(address);
        snapshots.push({ snapshotMicros, bytes: model });
        break;
      }
      case 'create':
        await blobs.putAppendBlob(address, plain);
        model = Buffer.alloc(0);
        break;
      case 'settle':
        await settle(world);
        await assertTidy(world);
        break;
      case 'delete': {
        const [gone] = snapshots.splice(each.which, 1);
        if (gone === undefined) break;
        await blobs.deleteBlob({ ...address, snapshotMicros: gone.snapshotMicros });
        break;
      }
      case 'read':
        await read(each.which);
    }
  }
  await settle(world);
  await assertTidy(world);
  for (let which = 0; which <= snapshots.length; which += 1) await read(which);
  await blobs.deleteBlob(address, { snapshots: 'include' });
  await settle(world);
  await assertTidy(world);
  assert.equal(world.content.ids.size, 0);
}

for (const engine of engineNames) {
  describe(`append blobs over ${engine}`, () => {
    it(
      'and their snapshots read as plain bytes do, and leave nothing behind',
      costly(),
      async () => {
        const property = fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), (steps) =>
          run(engine, steps),
        );
        await fc.assert(property, { numRuns: engine === 'memory' ? 25 : 6 });
      },
    );

    it('grow over many chunks', costly(), async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await blobs.putAppendBlob(address, plain);
      const parts: Buffer[] = [];
      for (let index = 0; index < 2 * chunkSegmentsMax + 10; index += 1) {
        const bytes = sample(1 + (index % 5), index);
        await append(blobs, bytes);
        parts.push(bytes);
      }
      assert.ok((await readAll(blobs, address)).equals(Buffer.concat(parts)));
      const { append: state } = await blobs.getProperties(address);
      assert.deepEqual(state, { count: parts.length, isSealed: false });
      await settle(world);
      await assertTidy(world);
    });

    it('take more appends at the same time than a change has attempts', costly(), async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await blobs.putAppendBlob(address, plain);
      const count = 2 * attemptsMax;
      const appended = await Promise.all(
        Array.from({ length: count }, (_, index) => append(blobs, `${index};`)),
      );
      const bytes = await readAll(blobs, address);
      for (const [index, { offset }] of appended.entries()) {
        assert.ok(bytes.subarray(offset).toString().startsWith(`${index};`));
      }
      assert.equal((await blobs.getProperties(address)).append?.count, count);
    });

    it('take appends at the same time one after the other, and lose none', async (t) => {
      const clock = manualClock();
      const store = await openTestStore(engine, t, clock);
      const world = blobWorld(store, { clock, count: 2 });
      const [first, second] = world.services;
      assert.ok(first !== undefined && second !== undefined);
      await first.containers.create({ account, container }, { metadata: [], publicAccess: 'none' });
      await first.putAppendBlob(address, plain);
      const appended = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const bytes = sample(index % 4 === 0 ? 40_000 : 100 + index, index);
          const { offset, count } = await append(index % 2 === 0 ? first : second, bytes);
          return { offset, count, bytes };
        }),
      );
      const ordered = appended.toSorted((left, right) => left.offset - right.offset);
      assert.deepEqual(
        ordered.map(({ count }) => count),
        ordered.map((_, index) => index + 1),
      );
      const wanted = Buffer.concat(ordered.map(({ bytes }) => bytes));
      assert.ok((await readAll(first, address)).equals(wanted));
      await settle(world);
      await assertTidy(world);
    });

    it('take one of the appends that expect the same length', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await blobs.putAppendBlob(address, plain);
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) =>
          blobs.appendBlock(address, {
            body: body(sample(40_000, index)),
            append: { appendPosition: 0 },
          }),
        ),
      );
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const result of results) {
        if (result.status === 'rejected') {
          assert.ok(code('AppendPositionConditionNotMet')(result.reason));
        }
      }
      await settle(world);
      await assertTidy(world);
    });

    it('refuse what is too long, what has no bytes, and everything once sealed', async (t) => {
      const { blobs } = await setUp(engine, t);
      await assert.rejects(append(blobs, 'x'), code('BlobNotFound'));
      await blobs.putAppendBlob(address, plain);
      await append(blobs, 'abc');
      const atMost = (maxBytes: number) =>
        blobs.appendBlock(address, { body: body('de'), append: { maxBytes } });
      await assert.rejects(atMost(4), code('MaxBlobSizeConditionNotMet'));
      await assert.rejects(atMost(2), code('MaxBlobSizeConditionNotMet'));
      await atMost(5);
      await assert.rejects(append(blobs, ''), code('InvalidInput'));
      const before = await blobs.getProperties(address);
      const wrong = { append: { appendPosition: 4 } };
      await assert.rejects(
        blobs.sealAppendBlob(address, wrong),
        code('AppendPositionConditionNotMet'),
      );
      const sealed = await blobs.sealAppendBlob(address, { append: { appendPosition: 5 } });
      assert.equal(sealed.modifiedMicros, before.modifiedMicros);
      await blobs.sealAppendBlob(address);
      await assert.rejects(append(blobs, 'f'), code('BlobIsSealed'));
      await blobs.setMetadata(address, [['a', 'b']]);
      assert.equal((await readAll(blobs, address)).toString(), 'abcde');
      await blobs.putAppendBlob(address, plain);
      await append(blobs, 'g');
    });

    it('are no other blobs', async (t) => {
      const { blobs } = await setUp(engine, t);
      await blobs.putAppendBlob(address, plain);
      const id = Buffer.from('1');
      await assert.rejects(
        blobs.putBlock(address, { id }, { body: body('x') }),
        code('InvalidBlobType'),
      );
      await assert.rejects(
        blobs.putPages(address, { start: 0, end: 512 }, { body: body(sample(512)) }),
        code('InvalidBlobType'),
      );
      await blobs.putBlockBlob(address, plain, { body: body('x') });
      await assert.rejects(append(blobs, 'x'), code('InvalidBlobType'));
      await assert.rejects(blobs.sealAppendBlob(address), code('InvalidBlobType'));
    });
  });
}
