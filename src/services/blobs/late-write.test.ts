import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  account,
  assertTidy,
  at,
  body,
  container,
  entriesOfBlobs,
  isDirectory,
  openBlobs,
  plain,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { droppedGraceMicros } from '../containers/reclaim.js';
import type { Body } from './types.js';

const bytes = sample(50_000);
const noKind = { sequenceNumber: undefined, append: undefined };

describe('a write whose container goes while its bytes come', () => {
  for (const isMadeAgain of [false, true]) {
    const what = isMadeAgain ? 'has another one of its name' : 'is gone';
    it(`is refused and leaves nothing when the container ${what}`, async (t) => {
      const clock = manualClock();
      const store = await openTestStore('memory', t, clock);
      const world = await openBlobs(store, clock);
      const { blobs } = world;
      const containers = { metadata: [], publicAccess: 'none' } as const;
      async function* slowly(): Body {
        yield* body(bytes.subarray(0, 40_000));
        await blobs.containers.delete({ account, container }, {});
        await settle(world);
        clock.advanceMicros(droppedGraceMicros);
        await settle(world);
        if (isMadeAgain) await blobs.containers.create({ account, container }, containers);
        yield* body(bytes.subarray(40_000));
      }
      const source = {
        blob: { ...plain, kind: 'block', bytes: bytes.length, ...noKind },
        blocks: () => Promise.resolve([]),
        pages: () => Promise.resolve([]),
        read: slowly,
      } as const;
      const request = { sourceUrl: 'http://h/x', tags: [] };
      for (const write of [
        () => blobs.putBlockBlob(at('b'), plain, { body: slowly() }),
        () => blobs.putBlock(at('b'), { id: Buffer.from('1') }, { body: slowly() }),
        () => blobs.copyForeign(at('b'), { source, request }, {}),
      ]) {
        await assert.rejects(write(), { code: 'ContainerNotFound' });
        await assertTidy(world);
        assert.equal(world.content.ids.size, 0);
        const left = (await entriesOfBlobs(store)).filter(({ key }) => !isDirectory(key));
        assert.deepEqual(left, []);
        if (!isMadeAgain) await blobs.containers.create({ account, container }, containers);
      }
    });

    it(`is refused as a copy inside of the server when the container ${what}`, async (t) => {
      const clock = manualClock();
      const store = await openTestStore('memory', t, clock);
      let whileLinking = (): Promise<void> => Promise.resolve();
      const world = await openBlobs(store, clock, { onLink: () => whileLinking() });
      const { blobs } = world;
      const containers = { metadata: [], publicAccess: 'none' } as const;
      const from = (blob: string) => ({ account, container: 'from', blob });
      await blobs.containers.create({ account, container: 'from' }, containers);
      await blobs.putBlockBlob(from('block'), plain, { body: body(bytes) });
      const size = { bytes: 65_536, sequenceNumber: 0n };
      await blobs.putPageBlob(from('page'), { ...plain, ...size });
      const pages = { body: body(sample(65_536)) };
      await blobs.putPages(from('page'), { start: 0, end: 65_536 }, pages);
      const { snapshotMicros } = await blobs.snapshotBlob(from('page'));
      await settle(world);
      const before = (await entriesOfBlobs(store)).filter(({ key }) => !isDirectory(key));
      const extents = [...world.content.ids];
      whileLinking = async () => {
        await blobs.containers.delete({ account, container }, {});
        await settle(world);
        clock.advanceMicros(droppedGraceMicros);
        await settle(world);
        if (isMadeAgain) await blobs.containers.create({ account, container }, containers);
      };
      const snapshot = { ...from('page'), snapshotMicros };
      const copied = { sourceUrl: 'http://h/x', tags: [] };
      const sourceUrl = 'http://h/acct/from/page?snapshot=2020-01-01T00:00:00.0000000Z';
      for (const copy of [
        () => blobs.copyBlob(at('b'), { ...copied, source: from('block') }),
        () => blobs.copyBlob(at('b'), { ...copied, source: snapshot }),
        () => blobs.copyIncrementally(at('b'), { source: snapshot, sourceUrl }),
      ]) {
        await assert.rejects(copy(), { code: 'ContainerNotFound' });
        await settle(world);
        await assertTidy(world);
        assert.deepEqual([...world.content.ids], extents);
        const left = (await entriesOfBlobs(store)).filter(({ key }) => !isDirectory(key));
        assert.deepEqual(left, before);
        if (!isMadeAgain) await blobs.containers.create({ account, container }, containers);
      }
    });
  }
});
