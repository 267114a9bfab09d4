import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  at,
  body,
  container,
  entriesOfBlobs,
  isDirectory,
  microsPerDay,
  openBlobs,
  plain,
} from '../../../test/support/blob-world.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { candidatesPerRead } from '../../kv/filtered-entries.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import type { BlobService } from './blob-service.js';
import { blobKind, keysOfPartition, kindOfKey } from './keys.js';
import type { BlobQuery } from './types.js';
import { costly } from '../../../test/support/run-length.js';

// Blobs with many times more past states than a read may look at in one turn.

const address = at('b');
const days = 7;
const pastStates = 3 * candidatesPerRead;
const puttingAtOnce = candidatesPerRead;

/** Records how many entries each read of a store examines. */
function observed(store: Store, looks: number[]): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    commit: (batch) => store.commit(batch),
    close: () => store.close(),
    range(range, { filter, ...options }) {
      const read = looks.push(0) - 1;
      return store.range(range, {
        ...options,
        filter(candidate) {
          const decision = filter?.(candidate) ?? 'take';
          if (decision !== 'stop') looks[read] = (looks[read] ?? 0) + 1;
          return decision;
        },
      });
    },
  };
}

async function setUp(t: TestContext, { isVersioned = false } = {}) {
  const clock = manualClock();
  const looks: number[] = [];
  const world = await openBlobs(await openTestStore('memory', t, clock), clock, {
    retention: () => Promise.resolve({ enabled: true, days, allowPermanentDelete: false }),
    versioning: () => isVersioned,
    commits: (store) => observed(store, looks),
  });
  /** How many entries were looked at since the last call. */
  const looked = (): number => {
    const reads = looks.splice(0);
    assert.ok(Math.max(...reads) <= candidatesPerRead, 'no read looks at too many');
    return reads.reduce((sum, each) => sum + each, 0);
  };
  return { ...world, looked };
}

const put = (blobs: BlobService, tags: readonly (readonly [string, string])[] = []) =>
  blobs.putBlockBlob(address, { ...plain, tags }, { body: body('') });

/** Makes many past states of the last one that the blob has, before it. */
async function multiplyPast({ store }: { readonly store: Store }): Promise<void> {
  const past = (await entriesOfBlobs(store)).filter(
    ({ key }) => !isDirectory(key) && kindOfKey(key) === blobKind.version,
  );
  const last = past.at(-1);
  assert.ok(last !== undefined);
  const keys = keysOfPartition(last.key.subarray(0, partitionPrefixLength(last.key)));
  const micros = keys.microsOf(last.key);
  for (let made = 1; made <= pastStates; made += puttingAtOnce) {
    const puts = Array.from({ length: puttingAtOnce }, (_, index) => {
      return { key: keys.version(micros - made - index), value: last.value };
    });
    await store.commit({ checks: [], puts, deletes: [] });
  }
}

async function listed(blobs: BlobService, states: Partial<BlobQuery>): Promise<number> {
  const query = { snapshots: true, uncommitted: true, deleted: false, limit: 10_000, ...states };
  return (await blobs.listBlobs({ account, container }, query)).items.length;
}

describe('a blob with a long past', () => {
  it(
    'is deleted, restored and purged by reads that look at few entries each',
    costly(),
    async (t) => {
      const world = await setUp(t);
      const { blobs, clock, looked } = world;
      await put(blobs);
      await put(blobs);
      await multiplyPast(world);
      looked();
      await blobs.deleteBlob(address);
      assert.ok(looked() >= pastStates);
      await blobs.undeleteBlob(address);
      const restoring = looked();
      assert.ok(restoring < 3 * pastStates, `${restoring} entries were looked at`);
      assert.equal(await listed(blobs, {}), pastStates + 2);
      looked();
      clock.advanceMicros(microsPerDay);
      await blobs.deleteBlob(address, { snapshots: 'include' });
      assert.ok(looked() >= pastStates);
      clock.advanceMicros((days - 1) * microsPerDay + 60_000_000);
      await blobs.reclaim({ entriesMax: 10 });
      assert.ok(looked() >= pastStates, 'nothing is due yet, but might be');
      assert.equal(await listed(blobs, { deleted: true }), pastStates + 2);
    },
  );

  it('is listed and found by reads that look at few entries each', async (t) => {
    const world = await setUp(t, { isVersioned: true });
    const { blobs, clock, looked } = world;
    const { versionMicros: first } = await put(blobs, [['k', 'v']]);
    clock.advanceMicros(1_000_000);
    const { versionMicros: second = -1 } = await put(blobs);
    await blobs.deleteBlob(address);
    await blobs.deleteBlob({ ...address, versionMicros: second });
    await multiplyPast(world);
    looked();
    assert.equal(await listed(blobs, { versionsOnly: true, snapshots: false }), 1);
    assert.ok(looked() >= pastStates);
    const query = {
      container: undefined,
      comparisons: [{ kind: 'comparison', tag: 'k', operator: '=', value: 'v' }],
    } as const;
    const options = { limit: 10, versions: true };
    const found = await blobs.findInContainer({ account, container }, query, options);
    assert.deepEqual(
      found.blobs.map(({ version }) => version?.micros),
      [first],
    );
    assert.ok(looked() >= pastStates);
  });
});
