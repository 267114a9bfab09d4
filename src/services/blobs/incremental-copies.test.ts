import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  assertTidy,
  at,
  body,
  collected,
  container,
  openBlobs,
  plain,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { formatTimestamp } from '../../model/edm/date-time.js';
import type { DeleteRetention } from '../../model/resources/service-properties.js';

const disk = at('disk');
const backup = at('backup');
const bytes = 65_536;
const not = { code: 'OperationNotAllowedOnIncrementalCopyBlob' };

async function setUp(t: TestContext, policy?: DeleteRetention) {
  const clock = manualClock();
  const retention = () => Promise.resolve(policy);
  const links = { count: 0 };
  const onLink = async (): Promise<void> => void (links.count += 1);
  const store = await openTestStore('memory', t, clock);
  const world = await openBlobs(store, clock, { retention, onLink });
  const { blobs } = world;
  await blobs.putPageBlob(disk, { ...plain, bytes, sequenceNumber: 3n });
  const requestFor = (snapshotMicros: number, name = 'disk') => ({
    source: { ...at(name), snapshotMicros },
    sourceUrl: `http://h/acct/cont/${name}?snapshot=${encodeURIComponent(formatTimestamp(snapshotMicros))}`,
  });
  return {
    ...world,
    links,
    requestFor,
    write: (seed: number) =>
      blobs.putPages(disk, { start: 0, end: bytes }, { body: body(sample(bytes, seed)) }),
    copy: (snapshotMicros: number) => blobs.copyIncrementally(backup, requestFor(snapshotMicros)),
    shown: async (snapshotMicros: number) =>
      collected((await blobs.getBlob({ ...backup, snapshotMicros })).body),
  };
}

describe('an incremental copy', () => {
  it('has a snapshot of each that was copied, and nothing else is read of it', async (t) => {
    const world = await setUp(t);
    const { blobs, write, copy, shown } = world;
    const taken: number[] = [];
    for (const seed of [1, 2]) {
      await write(seed);
      const { snapshotMicros } = await blobs.snapshotBlob(disk);
      const { copyId } = await copy(snapshotMicros);
      const { copy: state, sequenceNumber } = await blobs.getProperties(backup);
      assert.deepEqual([state?.id, state?.status, sequenceNumber], [copyId, 'success', 3n]);
      taken.push(state?.incremental?.snapshotMicros ?? 0);
    }
    await blobs.deleteBlob(disk, { snapshots: 'include' });
    await settle(world);
    const [first = 0, second = 0] = taken;
    assert.ok((await shown(first)).equals(sample(bytes, 1)));
    assert.ok((await shown(second)).equals(sample(bytes, 2)));
    assert.equal((await blobs.getProperties({ ...backup, snapshotMicros: first })).kind, 'page');
    await assert.rejects(blobs.getBlob(backup), not);
    await assertTidy(world);
    await blobs.deleteBlob(backup, { snapshots: 'include' });
    await settle(world);
    await assertTidy(world);
    assert.equal(world.content.ids.size, 0);
  });

  it('leaves the deleted blob whose name it takes', async (t) => {
    const { blobs, copy } = await setUp(t, { enabled: true, days: 1, allowPermanentDelete: false });
    await blobs.putBlockBlob(backup, plain, { body: body('before') });
    await blobs.deleteBlob(backup, {});
    await copy((await blobs.snapshotBlob(disk)).snapshotMicros);
    await blobs.undeleteBlob(backup);
    const { items } = await blobs.listBlobs({ account, container }, everything);
    const moments = [...items].flatMap((item) =>
      item.name === 'backup' && item.kind === 'blob' ? [item.snapshotMicros] : [],
    );
    const [before = 0, taken] = moments;
    assert.deepEqual(moments, [before, taken, undefined]);
    const left = await blobs.getBlob({ ...backup, snapshotMicros: before });
    assert.equal((await collected(left.body)).toString(), 'before');
  });

  it('is changed by copies alone', async (t) => {
    const { blobs, copy } = await setUp(t);
    await copy((await blobs.snapshotBlob(disk)).snapshotMicros);
    const bounds = { start: 0, end: 512 };
    const source = { source: backup, sourceUrl: 'http://h/x', tags: [] };
    for (const [what, change] of Object.entries({
      pages: () => blobs.putPages(backup, bounds, { body: body(sample(512)) }),
      clear: () => blobs.clearPages(backup, bounds),
      ranges: () => blobs.getPageRanges(backup),
      metadata: () => blobs.setMetadata(backup, []),
      headers: () => blobs.setHeaders(backup, {}),
      tags: () => blobs.setTags(backup, []),
      'tags read': () => blobs.getTags(backup),
      lease: () => blobs.leaseBlob(backup, { kind: 'acquire', duration: 'infinite' }),
      'lease broken': () => blobs.leaseBlob(backup, { kind: 'break' }),
      snapshot: () => blobs.snapshotBlob(backup),
      replace: () => blobs.putPageBlob(backup, { ...plain, bytes: 512, sequenceNumber: 0n }),
      copy: () => blobs.copyBlob(at('c'), source),
      onto: () => blobs.copyBlob(backup, { ...source, source: disk }),
    })) {
      await assert.rejects(change(), not, what);
    }
    const { copy: state } = await blobs.getProperties(backup);
    const taken = { ...backup, snapshotMicros: state?.incremental?.snapshotMicros ?? -1 };
    assert.deepEqual(await blobs.getTags(taken), [], 'a snapshot is read');
  });

  it('links nothing when its target refuses it', async (t) => {
    const { blobs, write, copy, links } = await setUp(t);
    await write(1);
    const { snapshotMicros: first } = await blobs.snapshotBlob(disk);
    const { snapshotMicros: second } = await blobs.snapshotBlob(disk);
    await copy(second);
    assert.equal(links.count, 1);
    const refused = { code: 'IncrementalCopyOfEralierVersionSnapshotNotAllowed' };
    await assert.rejects(copy(first), refused);
    assert.equal(links.count, 1);
  });

  it('takes snapshots of one blob, in their order', async (t) => {
    const { blobs, copy, requestFor } = await setUp(t);
    const { snapshotMicros: first } = await blobs.snapshotBlob(disk);
    const { snapshotMicros: second } = await blobs.snapshotBlob(disk);
    await copy(second);
    await copy(second);
    await assert.rejects(copy(first), {
      code: 'IncrementalCopyOfEralierVersionSnapshotNotAllowed',
    });
    await blobs.putPageBlob(at('other'), { ...plain, bytes, sequenceNumber: 0n });
    const { snapshotMicros: other } = await blobs.snapshotBlob(at('other'));
    const mismatch = { code: 'IncrementalCopyBlobMismatch' };
    await assert.rejects(blobs.copyIncrementally(backup, requestFor(other, 'other')), mismatch);
    await assert.rejects(blobs.copyIncrementally(at('other'), requestFor(second)), mismatch);
    await blobs.putBlockBlob(at('block'), plain, { body: body('x') });
    const { snapshotMicros: block } = await blobs.snapshotBlob(at('block'));
    const wrong = blobs.copyIncrementally(at('new'), requestFor(block, 'block'));
    await assert.rejects(wrong, { code: 'InvalidSourceBlobType' });
    const { items } = await blobs.listBlobs({ account, container }, everything);
    assert.equal([...items].filter(({ name }) => name === 'backup').length, 3);
  });
});

const everything = { snapshots: true, uncommitted: true, deleted: true, limit: 100 };
