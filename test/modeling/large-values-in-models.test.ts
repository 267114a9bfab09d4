import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  defineEntity,
  int32,
  key,
  string,
  transaction,
  type TableGateway,
} from '../../src/modeling/index.js';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import { counter, openModel } from '../../src/modeling/model/index.js';
import { changeFeed } from '../../src/modeling/patterns/change-feed/index.js';
import { BucketGateway } from '../../src/modeling/patterns/high-volume-delete/bucket-gateway.js';
import {
  largeBinary,
  withLargeValues,
  type BlobPort,
} from '../../src/modeling/patterns/large-entities/index.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/index.js';
import { rowLeasesOf } from '../../src/modeling/patterns/row-leases/index.js';
import { listRouting, shardMapOf } from '../../src/modeling/patterns/shard-map/index.js';
import { stampedTable } from '../../src/modeling/patterns/shard-map-manager/stamped-table.js';
import { CountingKey } from './support/encryption-keys.js';
import { MemoryRows } from './support/memory-table.js';
import { SizedTable } from './support/sized-table.js';

// Values that no transaction holds, and that need none: a table of large values has them in blobs.

const Photo = defineEntity({
  type: 'Photo',
  properties: { album: string(), id: int32(), title: string().default(''), photo: largeBinary() },
  partitionKey: (p) => key`${p.album}`,
  rowKey: (p) => key`photo_${p.id.padded(4)}`,
});
const Album = defineEntity({
  type: 'Album',
  properties: { album: string(), photos: int32().default(0) },
  partitionKey: (p) => key`${p.album}`,
  rowKey: () => key`album`,
});
const photo = (fill: number) => new Uint8Array(4_200_000).fill(fill);
const at = (id: number) => ({ album: 'summer', id });

function memoryBlobs(): BlobPort {
  const blobs = new Map<string, Uint8Array>();
  return {
    put: async (name, bytes) => void blobs.set(name, bytes),
    get: async (name) => blobs.get(name),
    has: async (name) => blobs.has(name),
    delete: async (name) => void blobs.delete(name),
    list: async () => ({ blobs: [] }),
  };
}

const newTable = (table: string) => new SizedTable(new MemoryRows(), { table });
const large = (table: TableGateway) =>
  withLargeValues(table, { blobs: memoryBlobs(), compression: 'identity' });
const encrypted = (table: TableGateway) =>
  withEncryption(table, {
    keys: keyRing(new CountingKey('master').kek),
    resolver: (_partitionKey, _rowKey, name) => name === 'photo',
  });

async function shards(each: (table: TableGateway) => TableGateway): Promise<TableGateway> {
  const map = shardMapOf({
    name: 'photos',
    control: newTable('control'),
    shards: { a: each(newTable('a')), b: each(newTable('b')) },
    refreshMs: 0,
    settleMs: 0,
  });
  await map.create(listRouting({}, 'a'));
  return map.table;
}

const layers: Readonly<Record<string, () => TableGateway | Promise<TableGateway>>> = {
  'large values': () => large(newTable('photos')),
  'encryption over large values': () => encrypted(large(newTable('photos'))),
  'shards of large values': () => shards(large),
  'encryption over shards of large values': async () => encrypted(await shards(large)),
  'shards of encryption over large values': () => shards((table) => encrypted(large(table))),
  'large values over shards': async () => large(await shards((table) => table)),
};

const modelOf = (table: TableGateway) =>
  openModel({
    table,
    entities: { photos: Photo, albums: Album },
    keeps: [
      changeFeed(),
      counter({
        source: Photo,
        view: Album,
        keyOf: ({ album }) => ({ album }),
        measures: { photos: () => 1 },
      }),
    ],
  });

describe('a value that is larger than a transaction', () => {
  for (const [name, tableOf] of Object.entries(layers)) {
    it(`is written with what follows from it: ${name}`, async () => {
      const model = modelOf(await tableOf());
      const { photos, albums } = model.entities;
      const filledWith = async (fill: number): Promise<void> => {
        const found = await photos.get(at(1));
        assert.ok(found !== undefined && Buffer.from(found.photo).equals(photo(fill)));
      };
      const inserted = await photos.insert({ ...at(1), photo: photo(1) });
      await filledWith(1);
      await photos.replace({ ...inserted, photo: photo(2) });
      await filledWith(2);
      await photos.update(at(1), (each) => ({ ...each, photo: photo(3) }));
      await filledWith(3);
      await model
        .transaction()
        .insert(Photo, { ...at(2), photo: photo(4) })
        .run();
      assert.equal((await albums.get(at(1)))?.photos, 2);
      assert.deepEqual((await model.drain()).unfinished, []);
    });
  }

  it('is added to a parent, and changed under a lease', async () => {
    const table = large(newTable('photos'));
    const { parents: albums, ...photos } = relationOf(table);
    await albums.insert({ album: 'summer' });
    await photos.relation.add({ ...at(1), photo: photo(1) });
    const leases = rowLeasesOf(Photo, table, { holder: 'test' });
    const lease = await leases.acquire(at(1));
    await lease.update((each) => ({ ...each, photo: photo(2) }));
    await lease.release();
    assert.equal((await albums.get({ album: 'summer' }))?.photos, 1);
  });

  it('is known to fit by every gateway in front of its table', () => {
    const table = large(newTable('photos'));
    const inFront = [
      modelOf(table).table,
      stampedTable(table),
      new BucketGateway(table, () => Promise.resolve()),
    ];
    for (const each of inFront) assert.equal(each.storesLargeValues, true);
    assert.notEqual(stampedTable(newTable('photos')).storesLargeValues, true);
  });

  it('is refused where the table keeps it in its row, and together with too many small ones', async () => {
    const wanted = { name: 'TooLargeError' };
    const one = { ...at(1), photo: photo(1) };
    await assert.rejects(transaction(newTable('photos')).insert(Photo, one).run(), wanted);
    const inRows = modelOf(await shards((table) => table));
    await assert.rejects(inRows.entities.photos.insert(one), wanted);
    let puts = 0;
    const blobs = memoryBlobs();
    const counted: BlobPort = { ...blobs, put: async () => void (puts += 1) };
    const table = withLargeValues(newTable('photos'), { blobs: counted });
    const small = new Uint8Array(60_000);
    for (const first of [photo(1), small]) {
      const together = transaction(table).insert(Photo, { ...at(0), photo: first });
      for (let id = 1; id < 90; id += 1) together.insert(Photo, { ...at(id), photo: small });
      await assert.rejects(together.run(), wanted);
    }
    assert.equal(puts, 0);
  });
});

function relationOf(table: TableGateway) {
  const relation = oneToManyOf({
    parent: Album,
    child: Photo,
    table,
    parentOf: ({ album }) => ({ album }),
    count: 'photos',
  });
  return { relation, parents: relation.parents };
}
