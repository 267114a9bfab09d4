import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  container,
  large,
  microsPerDay,
  plain,
  readAll,
  settle,
} from '../../../test/support/blob-world.js';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import type { BlobService } from './blob-service.js';

const made = { metadata: [], publicAccess: 'none' } as const;
const place = { account, container };

async function setUp(engine: EngineName, t: TestContext) {
  const clock = manualClock();
  const store = await openTestStore(engine, t, clock);
  const world = blobWorld(store, { clock, containerRetentionDays: 7 });
  const [blobs] = world.services;
  assert.ok(blobs !== undefined);
  await blobs.containers.create(place, made);
  return { ...world, blobs };
}

/** The names in a list, `~` behind the deleted, with the days that are left. */
async function listed(blobs: BlobService, limit = 100): Promise<readonly string[]> {
  const names: string[] = [];
  for (let from: string | undefined = ''; from !== undefined;) {
    const query = { from, limit, includesDeleted: true };
    const { containers, next } = await blobs.containers.list(account, query);
    assert.ok(containers.length <= limit);
    for (const { name, deleted } of containers) {
      names.push(deleted === undefined ? name : `${name}~${deleted.remainingDays}`);
    }
    from = next;
  }
  return names;
}

async function versionsOf(blobs: BlobService, name: string): Promise<readonly string[]> {
  const query = { prefix: name, limit: 100, includesDeleted: true };
  const { containers } = await blobs.containers.list(account, query);
  return Array.from(containers).flatMap(({ deleted }) => deleted?.version ?? []);
}

for (const engine of engineNames) {
  describe(`deleted containers that are kept over ${engine}`, () => {
    it('come back with their blobs, and are gone for everybody until then', async (t) => {
      const world = await setUp(engine, t);
      const { blobs } = world;
      await blobs.putBlockBlob(at('b'), plain, { body: body(large) });
      const acquire = { kind: 'acquire', duration: 'infinite' } as const;
      const { leaseId = '' } = await blobs.containers.lease(place, acquire, {});
      const { modifiedMicros } = await blobs.containers.get(place, {});
      await blobs.containers.delete(place, { leaseId });
      await assert.rejects(blobs.containers.get(place, {}), { code: 'ContainerNotFound' });
      await assert.rejects(blobs.getBlob(at('b')), { code: 'ContainerNotFound' });
      assert.deepEqual(
        Array.from((await blobs.containers.list(account, { limit: 9 })).containers),
        [],
      );
      await settle(world);
      const [version = ''] = await versionsOf(blobs, container);
      const wrong = { ...place, version: version.replace(/.$/, 'F') };
      await assert.rejects(blobs.containers.restore(wrong), { code: 'ContainerNotFound' });
      await blobs.containers.restore({ ...place, version });
      const properties = await blobs.containers.get(place, {});
      assert.equal(properties.modifiedMicros, modifiedMicros);
      assert.equal(properties.lease.state, 'available');
      assert.ok((await readAll(blobs, at('b'))).equals(large));
      await settle(world);
      await assertTidy(world);
    });

    it('are told apart when they had one name, and only one gets it back', async (t) => {
      const { blobs, clock } = await setUp(engine, t);
      await blobs.containers.delete(place, {});
      clock.advanceMicros(2 * microsPerDay);
      await blobs.containers.create(place, made);
      await blobs.putBlockBlob(at('b'), plain, { body: body('second') });
      await blobs.containers.delete(place, {});
      await blobs.containers.create(place, made);
      const other = { account, container: `${container}-a` };
      await blobs.containers.create(other, made);
      const all = ['cont', 'cont~5', 'cont~7', 'cont-a'];
      for (const limit of [1, 2, 3, 9]) assert.deepEqual(await listed(blobs, limit), all);
      const [, second = ''] = await versionsOf(blobs, container);
      const restore = () => blobs.containers.restore({ ...place, version: second });
      await assert.rejects(restore(), { code: 'ContainerAlreadyExists' });
      await blobs.containers.delete(place, {});
      await restore();
      assert.equal((await readAll(blobs, at('b'))).toString(), 'second');
      assert.deepEqual(await listed(blobs), ['cont', 'cont~5', 'cont~7', 'cont-a']);
    });

    it('go with the bytes of their blobs when their time is over', async (t) => {
      const world = await setUp(engine, t);
      const { blobs, clock } = world;
      await blobs.putBlockBlob(at('b'), plain, { body: body(large) });
      await blobs.containers.delete(place, {});
      clock.advanceMicros(7 * microsPerDay - 600_000_000);
      await settle(world);
      assert.deepEqual(await listed(blobs), ['cont~1']);
      assert.equal(world.content.ids.size, 1);
      const [version = ''] = await versionsOf(blobs, container);
      clock.advanceMicros(600_000_000);
      await settle(world);
      await settle(world);
      assert.deepEqual(await listed(blobs), []);
      assert.equal(world.content.ids.size, 0);
      const restored = blobs.containers.restore({ ...place, version });
      await assert.rejects(restored, { code: 'ContainerNotFound' });
    });
  });
}
