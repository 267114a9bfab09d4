import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import type { Store } from '../../kv/store.js';
import { Containers } from '../containers/containers.js';
import { containerPrefix } from '../containers/keys.js';
import { encodeBlobRecord, newBlobDraft, type BlobDraft } from './blob-record.js';
import { containerKind } from './container-record.js';
import { BlobKeys } from './keys.js';
import { listBlobs, type ListingContext } from './listing.js';
import type { BlobQuery, ListedBlob, ListedPrefix } from './types.js';

const second = 1_000_000;
const day = 24 * 3600 * second;
const address = { account: 'acct', container: 'c' };
const plain: BlobQuery = { snapshots: false, uncommitted: false, deleted: false, limit: 5000 };

async function world(): Promise<ListingContext & { readonly prefix: Uint8Array }> {
  const clock = forwardClock(manualClock(100 * day));
  const store = await openMemoryStore({ clock });
  const containers = new Containers(store, containerKind);
  const { record } = await containers.create(address.account, address.container, (id) => ({
    id,
    name: address.container,
    metadata: [],
    publicAccess: 'none',
    identifiers: [],
    lease: undefined,
    isImmutable: false,
    modifiedMicros: 'commit',
  }));
  const prefix = containerPrefix(containerKind.service, address.account, record.id);
  return { store, clock, containers, prefix };
}

async function put(store: Store, key: Uint8Array, fields: Partial<BlobDraft>): Promise<void> {
  const value = encodeBlobRecord({ ...newBlobDraft('block'), ...fields });
  await store.commit({ checks: [], puts: [{ key, value }], deletes: [] });
}

async function list(
  context: ListingContext,
  query: Partial<BlobQuery> = {},
): Promise<readonly (ListedBlob | ListedPrefix)[]> {
  return [...(await listBlobs(context, address, { ...plain, ...query })).items];
}

describe('a list of blobs', () => {
  it('shows what a blob is, its snapshots, and how long what was deleted is kept', async () => {
    const context = await world();
    const keys = new BlobKeys(context.prefix, 'a');
    const metadata = [['Colour', 'blue']] as const;
    await put(context.store, keys.base, { bytes: 5, metadata, modifiedMicros: 7 });
    await put(context.store, keys.version(3), { bytes: 4 });
    const deleted = { micros: 99 * day, purgedMicros: 101.5 * day };
    await put(context.store, keys.version(4), { bytes: 3, deleted });
    await put(context.store, new BlobKeys(context.prefix, 'b').base, { state: 'uncommitted' });

    const [only, ...others] = await list(context);
    assert.deepEqual(others, []);
    assert.ok(only?.kind === 'blob');
    assert.equal(only.properties?.bytes, 5);
    assert.deepEqual(only.properties.metadata, metadata);
    assert.deepEqual(only.properties.lease, { status: 'unlocked', state: 'available' });

    const all = await list(context, { snapshots: true, uncommitted: true, deleted: true });
    const shown = all.map((item) => {
      assert.ok(item.kind === 'blob');
      const { name, snapshotMicros, properties, deleted: deletion } = item;
      return [name, snapshotMicros, properties?.bytes, properties?.lease?.state, deletion];
    });
    assert.deepEqual(shown, [
      ['a', 3, 4, undefined, undefined],
      ['a', 4, 3, undefined, { timeMicros: 99 * day, remainingDays: 2 }],
      ['a', undefined, 5, 'available', undefined],
      ['b', undefined, undefined, undefined, undefined],
    ]);
  });

  it('is of a container that is there', async () => {
    const context = await world();
    const missing = listBlobs(context, { ...address, container: 'd' }, plain);
    await assert.rejects(missing, { code: 'ContainerNotFound' });
  });

  it('reserves memory for a page that is not short, and counts its bytes', async () => {
    const context = await world();
    const metadata = [['a', 'x'.repeat(8000)]] as const;
    for (let index = 0; index < 20; index += 1) {
      await put(context.store, new BlobKeys(context.prefix, `b${index}`).base, { metadata });
    }
    const told: string[] = [];
    const memory = {
      enter: (bytes: number) => void told.push(`enter ${bytes}`),
      hold: (bytes: number) => void told.push(bytes > 160_000 ? 'hold' : `hold ${bytes}`),
    };
    assert.equal(
      (await listBlobs(context, address, { ...plain, limit: 5 }, memory)).items.length,
      5,
    );
    assert.deepEqual(told, []);
    assert.equal((await listBlobs(context, address, plain, memory)).items.length, 20);
    assert.deepEqual(told, [`enter ${4 << 20}`, 'hold']);
  });
});
