import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { account, at, body, openBlobs, sample } from '../../../test/support/blob-world.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import type { Put } from '../../kv/store.js';
import { decodeBag } from '../../model/bag/bag.js';
import { capacityTableName } from '../../model/analytics/metrics-table.js';
import { ServicePropertiesService } from '../accounts/service-properties.js';
import { encodeBlobRecord, newBlobDraft } from '../blobs/blob-record.js';
import { containerKind, type ContainerDraft } from '../blobs/container-record.js';
import { BlobKeys, tagHintKey } from '../blobs/keys.js';
import { encodeBlock } from '../blobs/segments.js';
import { Containers } from '../containers/containers.js';
import { containerPrefix } from '../containers/keys.js';
import { TableService } from '../tables/table-service.js';
import { CapacityMetrics } from './capacity-metrics.js';

const begun = Date.UTC(2024, 2, 1, 12) * 1000;
const day = 86_400_000_000;
const off = { version: '1.0', enabled: false, retention: { enabled: false } };

async function openAccount(t: Parameters<typeof openTestStore>[1]) {
  const clock = manualClock(begun);
  const store = await openTestStore('memory', t, clock);
  const tables = new TableService({ store, clock });
  const properties = new ServicePropertiesService(store);
  const containers = new Containers(store, containerKind);
  const open = () => new CapacityMetrics({ store, clock, tables, properties });
  return {
    clock,
    properties,
    open,
    /**
     * A container with a hint and with blobs of these sizes in bytes, each with entries of its own.
     */
    async container(account: string, name: string, sizes: readonly number[]): Promise<void> {
      const { record } = await containers.create(account, name, (id): ContainerDraft => ({
        id,
        name,
        metadata: [],
        publicAccess: 'none',
        modifiedMicros: 'commit',
        lease: undefined,
        isImmutable: false,
        identifiers: [],
      }));
      const prefix = containerPrefix('blob', account, record.id);
      const hint = { key: tagHintKey(prefix, 'tag', 'value', 'blob 0'), value: Buffer.alloc(0) };
      await store.commit({ checks: [], puts: [hint], deletes: [] });
      for (const [at, bytes] of sizes.entries()) {
        const keys = new BlobKeys(prefix, `blob ${at}`);
        const piece = { kind: 'inline', id: Buffer.alloc(12, 1) } as const;
        const tail = bytes === 0 ? [] : [{ blockId: undefined, bytes, piece }];
        const id = Buffer.from(String(at).padStart(12, '0'));
        const content = { id, isChunked: false, tail };
        const value = encodeBlobRecord({ ...newBlobDraft('block'), bytes, content });
        const block = encodeBlock({ bytes: 0, piece });
        const puts: Put[] = [
          { key: keys.base, value },
          { key: keys.version(begun), value },
          { key: keys.block(Buffer.alloc(12), Buffer.from('id')), value: block },
        ];
        await store.commit({ checks: [], puts, deletes: [] });
      }
    },
    async rows(account: string): Promise<string[]> {
      const present = await tables.systemTables(account);
      if (!present.some(({ name }) => name === capacityTableName)) return [];
      const { entities } = await tables.queryEntities(account, capacityTableName, {});
      return entities.map(({ partitionKey, rowKey, bag }) => {
        const values = decodeBag(bag).map(({ name, value }) => `${name} ${String(value.value)}`);
        return `${partitionKey} ${rowKey}: ${values.join(', ')}`;
      });
    },
  };
}

async function measure(capacity: CapacityMetrics): Promise<number> {
  for (let steps = 1; ; steps += 1) {
    const { more } = await capacity.step();
    if (!more) return steps;
  }
}

describe('the capacity of blobs (blob-service §22.3)', () => {
  it('is measured once a day, of data and of logs', async (t) => {
    const account = await openAccount(t);
    await account.container('acct', 'one', [1, 10, 100]);
    await account.container('acct', 'two', []);
    await account.container('acct', '$logs', [5]);
    const capacity = account.open();
    await measure(capacity);
    const first = [
      '20240301T0000 analytics: Capacity 5, ContainerCount 1, ObjectCount 1',
      '20240301T0000 data: Capacity 111, ContainerCount 2, ObjectCount 3',
    ];
    assert.deepEqual(await account.rows('acct'), first);
    await account.container('acct', 'three', [1000]);
    account.clock.advanceMicros(day / 4);
    assert.equal(await measure(capacity), 1);
    await measure(account.open());
    assert.deepEqual(await account.rows('acct'), first);
    account.clock.advanceMicros(day / 4);
    await measure(capacity);
    assert.deepEqual((await account.rows('acct')).slice(2), [
      '20240302T0000 analytics: Capacity 5, ContainerCount 1, ObjectCount 1',
      '20240302T0000 data: Capacity 1111, ContainerCount 3, ObjectCount 4',
    ]);
  });

  it('counts what is stored: snapshots once, uncommitted blocks, and pages that have bytes', async (t) => {
    const clock = manualClock(begun);
    const store = await openTestStore('memory', t, clock);
    const retention = () =>
      Promise.resolve({ enabled: true, days: 1, allowPermanentDelete: false });
    const { blobs } = await openBlobs(store, clock, { retention });
    const tables = new TableService({ store, clock: forwardClock(clock) });
    const properties = new ServicePropertiesService(store);
    const capacity = new CapacityMetrics({ store, clock, tables, properties });
    let expected = 0;
    const measured = async (added: number): Promise<void> => {
      expected += added;
      clock.advanceMicros(day);
      await measure(capacity);
      const { entities } = await tables.queryEntities(account, capacityTableName, {});
      const last = entities.findLast(({ rowKey }) => rowKey === 'data');
      assert.ok(last !== undefined);
      const values = decodeBag(last.bag).map(({ name, value }) => [name, Number(value.value)]);
      assert.equal(new Map(values as [string, number][]).get('Capacity'), expected);
    };
    const blob = { headers: {}, metadata: [], tags: [] };
    const put = (bytes: number) => blobs.putBlockBlob(at('b'), blob, { body: body(sample(bytes)) });
    await put(100_000);
    await measured(100_000);
    await blobs.snapshotBlob(at('b'), {});
    await measured(0);
    // The snapshot keeps what was there.
    await put(50);
    await measured(50);
    // The newest snapshot shares with the blob, which the older one stands between.
    await blobs.snapshotBlob(at('b'), {});
    await measured(0);
    await blobs.snapshotBlob(at('b'), {});
    await measured(0);
    const id = Buffer.from('id');
    await blobs.putBlock(at('u'), { id }, { body: body(sample(70_000)) });
    await measured(70_000);
    await blobs.putPageBlob(at('p'), { ...blob, bytes: 2 ** 30, sequenceNumber: 0n });
    await measured(0);
    const page = { start: 512, end: 1024 };
    await blobs.putPages(at('p'), page, { body: body(sample(512)) });
    await measured(512);
    await blobs.putAppendBlob(at('a'), blob);
    for (let time = 0; time < 6; time += 1) {
      await blobs.appendBlock(at('a'), { body: body(sample(1_000)) });
      await blobs.snapshotBlob(at('a'), {});
    }
    await measured(6_000);
  });

  it('is measured in bounded steps', async (t) => {
    const account = await openAccount(t);
    const sizes = Array.from({ length: 3_000 }, (_, at) => at);
    await account.container('acct', 'many', sizes);
    assert.ok((await measure(account.open())) > 4);
    const sum = sizes.reduce((total, bytes) => total + bytes, 0);
    assert.match((await account.rows('acct'))[1] ?? '', new RegExp(`Capacity ${sum}, .* 3000$`));
  });

  it('is not measured where hour metrics of blobs are off', async (t) => {
    const account = await openAccount(t);
    await account.container('acct', 'one', [1]);
    await account.container('other', 'one', [2]);
    await account.properties.set('blob', 'acct', { hourMetrics: off });
    await measure(account.open());
    assert.deepEqual(await account.rows('acct'), []);
    assert.equal((await account.rows('other')).length, 2);
  });
});
