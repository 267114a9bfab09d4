import assert from 'node:assert/strict';
import { it } from 'node:test';
import { at, body, entriesOfBlobs, openBlobs, plain } from '../../../test/support/blob-world.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import { blobKind, keysOfPartition, kindOfKey } from './keys.js';

const address = at('b');

void it('says what to do about more snapshots than one request deletes', async (t) => {
  const clock = manualClock();
  const store = await openTestStore('memory', t, clock);
  const { blobs } = await openBlobs(store, clock);
  await blobs.putBlockBlob(address, plain, { body: body('text') });
  await blobs.snapshotBlob(address);
  const entries = await entriesOfBlobs(store);
  const snapshot = entries.find(({ key }) => kindOfKey(key) === blobKind.version);
  assert.ok(snapshot !== undefined);
  const keys = keysOfPartition(snapshot.key.subarray(0, partitionPrefixLength(snapshot.key)));
  const first = keys.microsOf(snapshot.key);
  const puts = Array.from({ length: 10_000 }, (_, at) => {
    return { key: keys.version(first + 1 + at), value: snapshot.value };
  });
  await store.commit({ checks: [], puts, deletes: [] });
  await assert.rejects(blobs.deleteBlob(address, {}), { code: 'SnapshotsPresent' });
  await assert.rejects(blobs.deleteBlob(address, { snapshots: 'include' }), {
    code: 'ServerBusy',
    message: /more than 10000 snapshots.*Delete some of them by themselves/,
  });
});
