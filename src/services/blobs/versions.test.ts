import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  assertTidy,
  at,
  body,
  collected,
  container,
  large,
  microsPerDay,
  notFound,
  openBlobs,
  plain,
  sample,
  settle,
} from '../../../test/support/blob-world.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import type { DeleteRetention } from '../../model/resources/service-properties.js';
import type { BlobService } from './blob-service.js';
import type { ListSelection, BlobStateSelector } from './types.js';

const address = at('b');

/** An account with versions; `isOn` and `days` can change. */
async function setUp(t: TestContext, { days = 0 } = {}) {
  const clock = manualClock();
  const current = { isOn: true, days };
  const retention = (): Promise<DeleteRetention> =>
    Promise.resolve(
      current.days === 0
        ? { enabled: false, allowPermanentDelete: false }
        : { enabled: true, days: current.days, allowPermanentDelete: true },
    );
  const store = await openTestStore('memory', t, clock);
  const world = await openBlobs(store, clock, { retention, versioning: () => current.isOn });
  return { ...world, current };
}

const put = (blobs: BlobService, bytes: Buffer | string) =>
  blobs.putBlockBlob(address, plain, { body: body(bytes) });

async function read(blobs: BlobService, selector: BlobStateSelector = {}): Promise<string> {
  const bytes = await collected((await blobs.getBlob({ ...address, ...selector })).body);
  return bytes.equals(large) ? 'large' : bytes.toString();
}

const all = { snapshots: true, versions: true, uncommitted: true, deleted: true };

/**
 * What a list has, a character each: `v` a version, `c` the one that the blob is, `s` a snapshot,
 * `b` a blob without versions, `o` what only versions are left of; behind a `~` if it is deleted.
 */
async function listed(
  blobs: BlobService,
  states: ListSelection = all,
  limit = 100,
): Promise<string> {
  let text = '';
  for (let from: { readonly name: string } | undefined = { name: 'a' }; from !== undefined;) {
    const query = { ...states, from, limit };
    const { items, next } = await blobs.listBlobs({ account, container }, query);
    assert.ok(items.length <= limit);
    for (const item of items) {
      assert.ok(item.kind === 'blob');
      const ofVersion = item.version?.isCurrent === true ? 'c' : 'v';
      const past = item.snapshotMicros === undefined ? 'b' : 's';
      const kind = item.version === undefined ? past : ofVersion;
      text += `${item.deleted === undefined ? '' : '~'}${item.hasVersionsOnly === true ? 'o' : kind}`;
    }
    from = next;
  }
  return text;
}

const tidy = async (world: Awaited<ReturnType<typeof setUp>>) => {
  await settle(world);
  await assertTidy(world);
};

describe('versions of a blob', () => {
  it('are made by every write that replaces it, and read by their ids', async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    const versionIds: number[] = [];
    const made = ({ versionMicros = -1 }: { readonly versionMicros?: number }) => {
      assert.ok(versionMicros > (versionIds.at(-1) ?? 0), 'ids ascend');
      versionIds.push(versionMicros);
    };
    made(await put(blobs, large));
    made(await put(blobs, 'two'));
    await blobs.putBlock(address, { id: Buffer.from('1') }, { body: body('three') });
    const blocks = [{ source: 'latest', id: Buffer.from('1') }] as const;
    made(await blobs.putBlockList(address, { ...plain, blocks }));
    made(await blobs.setMetadata(address, [['k', 'v']]));
    const source = { ...address, versionMicros: versionIds[1] ?? 0 };
    const copy = { source, sourceUrl: 'http://x/y', tags: [] };
    made(await blobs.copyBlob(address, copy));
    made(await blobs.putAppendBlob(address, plain));
    const contents = await Promise.all(
      versionIds.map((versionMicros) => read(blobs, { versionMicros })),
    );
    assert.deepEqual(contents, ['large', 'two', 'three', 'three', 'two', '']);
    const shown = await blobs.getProperties({ ...address, versionMicros: versionIds[3] ?? 0 });
    assert.deepEqual(shown.metadata, [['k', 'v']]);
    assert.deepEqual([shown.version?.isCurrent, shown.lease], [false, undefined]);
    const { version } = await blobs.getProperties(address);
    assert.deepEqual(version, { micros: versionIds.at(-1), isCurrent: true });
    assert.equal(await listed(blobs), 'vvvvvc');
    const last = { ...address, versionMicros: versionIds.at(-1) ?? 0 };
    assert.equal((await blobs.getProperties(last)).lease?.state, 'available');
    const none = read(blobs, { versionMicros: (versionIds[0] ?? 0) - 1 });
    await assert.rejects(none, notFound);
    await assert.rejects(read(blobs, { snapshotMicros: versionIds[0] ?? 0 }), notFound);
    await tidy(world);
  });

  it('are not made by changes in place', async (t) => {
    const { blobs } = await setUp(t);
    await put(blobs, 'one');
    await blobs.setHeaders(address, { contentType: 'x/y' });
    await blobs.setTags(address, [['k', 'v']]);
    await blobs.setTier(address, 'Cool');
    await blobs.leaseBlob(address, { kind: 'acquire', duration: 'infinite' });
    assert.equal(await listed(blobs), 'c');
  });

  it('outlast the deletion of the blob, and free their bytes when the last is gone', async (t) => {
    const world = await setUp(t);
    const { blobs, content } = world;
    const { versionMicros: first = 0 } = await put(blobs, large);
    const { versionMicros: second = 0 } = await blobs.setMetadata(address, [['k', 'v']]);
    const current = { ...address, versionMicros: second };
    await assert.rejects(blobs.deleteBlob(current), { code: 'OperationNotAllowedOnRootBlob' });
    assert.deepEqual(await blobs.deleteBlob(address), { isPermanent: false });
    await assert.rejects(read(blobs), notFound);
    assert.equal(await read(blobs, { versionMicros: second }), 'large');
    assert.equal(await listed(blobs), 'vv');
    await tidy(world);
    assert.deepEqual(await blobs.deleteBlob(current), { isPermanent: true });
    await tidy(world);
    assert.equal(content.ids.size, 1, 'the first version has the bytes as well');
    await blobs.deleteBlob({ ...address, versionMicros: first });
    await tidy(world);
    assert.equal(content.ids.size, 0);
    await assert.rejects(blobs.deleteBlob(current), notFound);
  });

  it('that are all that is left stand in lists by the last of them', async (t) => {
    const { blobs } = await setUp(t);
    for (const text of ['1', '2', '3']) await put(blobs, text);
    await blobs.putBlockBlob(at('c'), plain, { body: body('x') });
    const states = { ...all, versions: false, snapshots: false, versionsOnly: true };
    assert.equal(await listed(blobs, states), 'cc');
    await blobs.deleteBlob(address);
    assert.equal(await listed(blobs, { ...states, versionsOnly: false }), 'c');
    for (const limit of [1, 2, 9]) {
      assert.equal(await listed(blobs, states, limit), 'oc');
      assert.equal(await listed(blobs, { ...states, snapshots: true }, limit), 'oc');
      assert.equal(await listed(blobs, { ...states, delimiter: '/' }, limit), 'oc');
      assert.equal(await listed(blobs, all, limit), 'vvvc');
    }
  });

  it('have tags and tiers of their own', async (t) => {
    const { blobs } = await setUp(t);
    const { versionMicros = 0 } = await put(blobs, 'one');
    await put(blobs, 'two');
    const version = { ...address, versionMicros };
    await blobs.setTags(version, [['k', 'v']]);
    await blobs.setTier(version, 'Archive');
    assert.deepEqual(await blobs.getTags(version), [['k', 'v']]);
    assert.deepEqual(await blobs.getTags(address), []);
    await assert.rejects(read(blobs, { versionMicros }), { code: 'BlobArchived' });
    assert.equal(await read(blobs), 'two');
    const ifTags = { kind: 'comparison', tag: 'k', operator: '=', value: 'other' } as const;
    const wrong = { conditions: { ifTags } };
    await assert.rejects(blobs.setTags(version, [], wrong), { code: 'ConditionNotMet' });
  });

  it('that are deleted are kept where deleted blobs are, and come back', async (t) => {
    const world = await setUp(t, { days: 7 });
    const { blobs } = world;
    const { versionMicros = 0 } = await put(blobs, large);
    await put(blobs, 'two');
    assert.equal(await listed(blobs), 'vc', 'what is written over is no deleted snapshot');
    const version = { ...address, versionMicros };
    assert.deepEqual(await blobs.deleteBlob(version), { isPermanent: false });
    assert.equal(await listed(blobs), '~vc');
    await assert.rejects(blobs.getBlob(version), notFound);
    await blobs.deleteBlob(address);
    assert.equal(await listed(blobs), '~vv');
    await blobs.undeleteBlob(address);
    assert.equal(await listed(blobs), 'vv');
    await assert.rejects(read(blobs), notFound, 'no version is promoted');
    assert.equal(await read(blobs, { versionMicros }), 'large');
    await tidy(world);
    await blobs.deleteBlob(version);
    assert.deepEqual(await blobs.deleteBlob(version, { permanently: true }), { isPermanent: true });
    await tidy(world);
    assert.equal(await listed(blobs), 'v');
  });

  it('are not preceded by what was deleted before them', async (t) => {
    const world = await setUp(t, { days: 7 });
    const { blobs, current } = world;
    current.isOn = false;
    await put(blobs, 'deleted');
    await blobs.deleteBlob(address);
    current.isOn = true;
    await put(blobs, 'two');
    await blobs.deleteBlob(address);
    assert.equal(await listed(blobs), '~sv');
    await blobs.undeleteBlob(address);
    await assert.rejects(read(blobs), notFound);
    await blobs.putBlock(address, { id: Buffer.from('a') }, { body: body('new') });
    await blobs.undeleteBlob(address);
    assert.equal(await listed(blobs), '~svb', 'the blocks stay');
    await tidy(world);
  });

  it('that are deleted go when their time is over', async (t) => {
    const world = await setUp(t, { days: 7 });
    const { blobs, clock, content } = world;
    const { versionMicros = 0 } = await put(blobs, large);
    await put(blobs, 'two');
    await blobs.deleteBlob({ ...address, versionMicros });
    clock.advanceMicros(7 * microsPerDay + 60_000_000);
    await tidy(world);
    assert.equal(await listed(blobs), 'c');
    assert.equal(content.ids.size, 0);
  });

  it('stay when versions are switched off, and none is added', async (t) => {
    const world = await setUp(t);
    const { blobs, current } = world;
    current.isOn = false;
    await put(blobs, 'before');
    current.isOn = true;
    assert.equal(await listed(blobs), 'b');
    await put(blobs, 'one');
    assert.equal(await listed(blobs), 'vc', 'what was there becomes a version');
    current.isOn = false;
    const { versionMicros } = await put(blobs, 'two');
    assert.equal(versionMicros, undefined);
    assert.equal(await listed(blobs), 'vvb');
    await put(blobs, 'three');
    assert.equal(await listed(blobs), 'vvb');
    await blobs.deleteBlob(address);
    assert.equal(await listed(blobs), 'vv');
    await tidy(world);
  });

  it('stand beside snapshots, which make versions as well', async (t) => {
    const world = await setUp(t);
    const { blobs, content } = world;
    await put(blobs, large);
    const { modifiedMicros } = await blobs.getProperties(address);
    const taken = await blobs.snapshotBlob(address);
    assert.equal(await listed(blobs), 'vsc');
    assert.equal(taken.modifiedMicros, modifiedMicros);
    assert.ok((taken.versionMicros ?? 0) > taken.snapshotMicros);
    const { snapshotMicros } = taken;
    assert.equal((await blobs.getProperties({ ...address, snapshotMicros })).version, undefined);
    await assert.rejects(blobs.deleteBlob(address), { code: 'SnapshotsPresent' });
    await blobs.deleteBlob(address, { snapshots: 'include' });
    assert.equal(await listed(blobs), 'vv');
    await tidy(world);
    assert.equal(content.ids.size, 1);
  });

  it('of page blobs keep the pages that they saw', async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    const write = (seed: number) =>
      blobs.putPages(address, { start: 0, end: 65_536 }, { body: body(sample(65_536, seed)) });
    const pages = async (selector: BlobStateSelector) =>
      collected((await blobs.getBlob({ ...address, ...selector })).body);
    const made = await blobs.putPageBlob(address, { ...plain, bytes: 65_536, sequenceNumber: 0n });
    await write(1);
    assert.equal(await listed(blobs), 'c', 'pages make no version');
    const { snapshotMicros, versionMicros: second = 0 } = await blobs.snapshotBlob(address);
    await write(2);
    await blobs.setMetadata(address, [['k', 'v']]);
    await write(3);
    const first = { versionMicros: made.versionMicros ?? 0 };
    assert.ok((await pages(first)).equals(sample(65_536, 1)));
    assert.ok((await pages({ versionMicros: second })).equals(sample(65_536, 2)));
    assert.ok((await pages({})).equals(sample(65_536, 3)));
    await tidy(world);
    await blobs.deleteBlob({ ...address, snapshotMicros });
    await write(4);
    await tidy(world);
    assert.ok((await pages(first)).equals(sample(65_536, 1)));
    await blobs.deleteBlob({ ...address, ...first });
    await blobs.deleteBlob(address);
    await tidy(world);
    assert.equal(world.content.ids.size, 2);
    assert.ok((await pages({ versionMicros: second })).equals(sample(65_536, 2)));
  });

  it('of page blobs keep pages that a snapshot which is gone has seen as well', async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    const bounds = { start: 0, end: 512 };
    const sized = { ...plain, bytes: 512, sequenceNumber: 0n };
    const { versionMicros = 0 } = await blobs.putPageBlob(address, sized);
    await blobs.putPages(address, bounds, { body: body(sample(512, 1)) });
    const { snapshotMicros } = await blobs.snapshotBlob(address);
    await blobs.deleteBlob({ ...address, snapshotMicros });
    await blobs.putPages(address, bounds, { body: body(sample(512, 2)) });
    await tidy(world);
    const { body: pages } = await blobs.getBlob({ ...address, versionMicros });
    assert.ok((await collected(pages)).equals(sample(512, 1)));
  });

  it('of append blobs end where they ended', async (t) => {
    const world = await setUp(t);
    const { blobs } = world;
    const { versionMicros = 0 } = await blobs.putAppendBlob(address, plain);
    await blobs.appendBlock(address, { body: body('one') });
    await blobs.setMetadata(address, [['k', 'v']]);
    await blobs.appendBlock(address, { body: body('two') });
    assert.equal(await read(blobs, { versionMicros }), 'one');
    assert.equal(await read(blobs), 'onetwo');
    await blobs.deleteBlob(address);
    await blobs.deleteBlob({ ...address, versionMicros });
    await tidy(world);
    assert.equal(await listed(blobs), 'v');
  });

  it('are made by a write under the lease, which stays with the blob', async (t) => {
    const { blobs } = await setUp(t);
    const { versionMicros = 0 } = await put(blobs, 'one');
    const acquire = { kind: 'acquire', duration: 'infinite' } as const;
    const { leaseId = '' } = await blobs.leaseBlob(address, acquire);
    await assert.rejects(put(blobs, 'two'), { code: 'LeaseIdMissing' });
    await blobs.putBlockBlob(address, plain, { body: body('two'), leaseId });
    assert.equal((await blobs.getProperties(address)).lease?.state, 'leased');
    await blobs.deleteBlob({ ...address, versionMicros });
    assert.equal(await listed(blobs), 'c');
  });
});
