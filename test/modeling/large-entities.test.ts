import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { brotliDecompressSync, inflateSync } from 'node:zlib';
import { BlobServiceClient } from '@azure/storage-blob';
import * as fc from 'fast-check';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import type { BlobPort } from '../../src/modeling/patterns/large-entities/blob-port.js';
import { openValueBlobs } from '../../src/modeling/patterns/large-entities/container-blobs.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/large-table.js';
import type { LargeOptions } from '../../src/modeling/patterns/large-entities/options.js';
import { deleteWhere } from '../../src/modeling/patterns/high-volume-delete/delete-where.js';
import { verifyLargeValues } from '../../src/modeling/patterns/large-entities/verify.js';
import type { Row, RowProperties, WireValue } from '../../src/modeling/rows/row.js';
import { bulk } from '../../src/modeling/table/bulk.js';
import {
  ConditionFailedError,
  EntityExistsError,
  EntityNotFoundError,
  TransactionFailedError,
} from '../../src/modeling/table/errors.js';
import type { TableGateway } from '../../src/modeling/table/gateway.js';
import { startBlobs } from '../support/blob-backend.js';
import { sampled, costly } from '../support/run-length.js';
import { crashEverywhere } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';

// Values of every size in a real table and a real blob service: what is stored, read and left over,
// and what happens when a write is killed or meets another.

const tables = await startTables();
const blobServer = await startBlobs();
after(async () => {
  await tables[Symbol.asyncDispose]();
  await blobServer[Symbol.asyncDispose]();
});
const service = BlobServiceClient.fromConnectionString(blobServer.connectionString, {
  retryOptions: { maxTries: 1 },
});
let containers = 0;

const key = { partitionKey: 'p', rowKey: 'r' };
const random = (bytes: number): WireValue => ({
  type: 'Binary',
  value: new Uint8Array(systemRandomness.bytes(bytes)),
});
const text = (value: string): WireValue => ({ type: 'String', value });
const rowOf = (properties: RowProperties, rowKey = 'r'): Row => ({ ...key, rowKey, properties });

/** Thresholds by which V is stored in rows beside the entity and W in a blob, with little data. */
const small: LargeOptions = {
  binaryBytesInline: 500,
  entityBytesMax: 4000,
  compression: 'identity',
  locations: { W: { at: 'blob' } },
};

async function newContainer(): Promise<BlobPort> {
  containers += 1;
  const container = service.getContainerClient(`large${containers}`);
  await container.create();
  return openValueBlobs(container);
}

/** Blobs whose age the clock of a test alone tells. */
async function newBlobs(): Promise<BlobPort> {
  const blobs = await newContainer();
  return {
    ...blobs,
    list: async (prefix, cursor) => {
      const { serviceMicros: _, ...page } = await blobs.list(prefix, cursor);
      return page;
    },
  };
}

async function fixture(options: LargeOptions = {}, withBlobs = false) {
  const { gateway: table, ...observed } = await tables.newTable();
  const blobs = await (withBlobs ? newBlobs() : undefined);
  const given = { ...options, ...(blobs === undefined ? {} : { blobs }) };
  const large = withLargeValues(table, given);
  return { table, large, blobs, given, requests: () => observed.takeKinds() };
}

const withBlobs = async (options: LargeOptions = {}) => {
  const { blobs, ...rest } = await fixture(options, true);
  assert.ok(blobs !== undefined);
  return { ...rest, blobs };
};

async function namesOf(blobs: BlobPort): Promise<readonly string[]> {
  return (await blobs.list('')).blobs.map(({ name }) => name);
}

async function rowKeysOf(table: TableGateway): Promise<readonly string[]> {
  return (await table.page({ select: [] })).rows.map(({ rowKey }) => rowKey);
}

/** One value for each way of storing. */
const rungs: readonly (readonly [string, RowProperties])[] = [
  ['inline', { V: text('short') }],
  ['in parts of the entity', { V: random(200_000) }],
  ['compressed', { V: text('compress me '.repeat(200_000)) }],
  ['in rows beside the entity', { V: random(1_500_000) }],
  ['in a blob', { V: random(4_000_000) }],
];

describe('a large value', () => {
  for (const [place, properties] of rungs) {
    it(`comes back as it was: ${place}`, async () => {
      const { large } = await withBlobs();
      const row = rowOf({ ...properties, Name: text('Jones') });
      const { etag } = await large.write({ kind: 'insert', row });
      const read = await large.get(key);
      assert.deepEqual(read?.properties, row.properties);
      assert.equal(read.etag, etag);
      const page = await large.page({ filter: "PartitionKey eq 'p'" });
      assert.deepEqual(page.rows, [read]);
      assert.deepEqual((await large.get(key, ['V']))?.properties, properties);
      assert.deepEqual((await large.get(key, ['Name']))?.properties, { Name: text('Jones') });
    });
  }

  for (const [from, before] of sampled(rungs)) {
    it(`is replaced by a value of any other place, and leaves nothing behind: ${from}`, async () => {
      const kinds = ['replace', 'merge', 'upsert-replace', 'upsert-merge'] as const;
      for (const kind of sampled(from === 'in a blob' ? kinds.slice(0, 2) : kinds)) {
        const { large, table, blobs } = await withBlobs();
        for (const [, after] of sampled(rungs)) {
          await large.write({ kind: 'upsert-replace', row: rowOf({ ...before, Old: text('o') }) });
          const etag = (await table.get(key, []))?.etag ?? '';
          const row = rowOf({ ...after, New: text('n') });
          await large.write(
            kind === 'replace' || kind === 'merge' ? { kind, row, etag } : { kind, row },
          );
          const kept = kind.endsWith('merge') ? { Old: text('o') } : {};
          assert.deepEqual((await large.get(key))?.properties, { ...kept, ...row.properties });
        }
        await large.write({ kind: 'delete', key, etag: '*' });
        const leftRows = kind.endsWith('merge') ? await abandonedBySmallMerges(large) : [];
        assert.deepEqual(await rowKeysOf(table), leftRows);
        assert.deepEqual(await namesOf(blobs), []);
      }
    });
  }

  it('leaves the address of its blob to readers of any kind, and is the value to this one', async () => {
    const locations = { Photo: { at: 'blob', contentType: 'image/jpeg', address: true } } as const;
    const { large, table, blobs } = await withBlobs({ locations, properties: ['Text'] });
    const photo = random(5000);
    await large.write({ kind: 'insert', row: rowOf({ Photo: photo, Name: text('Jones') }) });
    const addressOf = async () => {
      const stored = (await table.get(key))?.properties['Photo'];
      assert.equal(stored?.type, 'String');
      return stored.value;
    };
    const address = await addressOf();
    const [name = ''] = await namesOf(blobs);
    assert.ok(address.startsWith('http') && decodeURIComponent(address).endsWith(name), address);
    const client = service.getContainerClient(`large${containers}`).getBlobClient(name);
    assert.equal(client.url, address);
    assert.equal((await client.getProperties()).contentType, 'image/jpeg');
    assert.deepEqual((await large.get(key))?.properties, { Photo: photo, Name: text('Jones') });
    assert.deepEqual((await large.get(key, ['Photo']))?.properties, { Photo: photo });
    assert.deepEqual((await large.get(key, ['Name']))?.properties, { Name: text('Jones') });
    // A merge of something else keeps it; a new value has another address, and the old blob goes.
    const row = rowOf({ Name: text('Smith') });
    await large.write({ kind: 'merge', row, etag: '*' });
    assert.equal(await addressOf(), address);
    const other = random(6000);
    await large.write({ kind: 'merge', row: rowOf({ Photo: other }), etag: '*' });
    assert.notEqual(await addressOf(), address);
    assert.equal((await namesOf(blobs)).length, 1);
    assert.deepEqual((await large.get(key))?.properties, { Photo: other, Name: text('Smith') });
    // What a program without the library stores there counts.
    await table.write({ kind: 'merge', row: rowOf({ Photo: text('none') }), etag: '*' });
    assert.deepEqual((await large.get(key))?.properties['Photo'], text('none'));
    await large.write({ kind: 'delete', key, etag: '*' });
    assert.deepEqual(await namesOf(blobs), []);
    const mute: BlobPort = { ...blobs };
    Reflect.deleteProperty(mute, 'addressOf');
    assert.throws(
      () => withLargeValues(table, { locations, blobs: mute }),
      /pass 'blobs' with addressOf/,
    );
  });

  it('is written and read with other rows of its partition in one transaction', async () => {
    const { large, requests } = await fixture();
    const rows = ['1', '2', '3'].map((rowKey) => rowOf({ V: random(900_000) }, rowKey));
    const results = await large.transact(rows.map((row) => ({ kind: 'insert', row })));
    assert.deepEqual(requests(), ['transaction']);
    const page = await large.page({});
    assert.deepEqual(
      page.rows.map(({ properties }) => properties),
      rows.map((row) => row.properties),
    );
    assert.deepEqual(
      page.rows.map(({ etag }) => etag),
      results.map(({ etag }) => etag),
    );
  });

  it('comes back whatever it is, and whatever the thresholds are', costly(), async () => {
    const { blobs } = await withBlobs();
    const value = fc.oneof(
      fc.nat(3000).map(random),
      fc.string({ unit: 'grapheme', maxLength: 3000 }).map(text),
      fc.integer().map((value): WireValue => ({ type: 'Int32', value })),
    );
    const options = fc.record({
      stringUnitsInline: fc.nat(500),
      binaryBytesInline: fc.nat(500),
      entityBytesMax: fc.integer({ min: 6000, max: 20_000 }),
      compressAlways: fc.boolean(),
      compression: fc.constantFrom('br', 'deflate', 'identity'),
      useRows: fc.boolean(),
    } satisfies Record<string, fc.Arbitrary<unknown>>);
    await fc.assert(
      fc.asyncProperty(fc.array(value, { maxLength: 6 }), options, async (values, thresholds) => {
        const { table } = await fixture();
        const large = withLargeValues(table, { ...(thresholds as LargeOptions), blobs });
        const row = rowOf(Object.fromEntries(values.map((each, index) => [`v${index}`, each])));
        await large.write({ kind: 'upsert-replace', row });
        assert.deepEqual(
          (await withLargeValues(table, { blobs }).get(key))?.properties,
          row.properties,
        );
      }),
      { numRuns: 20 },
    );
  });
});

/** A small merge over a value in rows leaves its old rows to `verifyLargeValues`. */
async function abandonedBySmallMerges(large: Parameters<typeof verifyLargeValues>[0]) {
  await verifyLargeValues(large, { repair: true, clock: manualClock(9e15) });
  return [];
}

describe('large values of more rows than a transaction holds', () => {
  const rowsOf = (count: number, properties: () => RowProperties) =>
    Array.from({ length: count }, (_, index) => rowOf(properties(), `r${index}`));

  it('are written by bulk and deleted by deleteWhere', costly(), async () => {
    const { large, table } = await fixture(small);
    const rows = rowsOf(60, () => ({ V: random(5000) }));
    const inserts = rows.map((row) => ({ kind: 'insert', row }) as const);
    const { applied, failed } = await bulk(large, inserts);
    assert.deepEqual({ applied, failed }, { applied: 60, failed: 0 });
    assert.equal((await rowKeysOf(table)).length, 120);
    const { deleted } = await deleteWhere(large, { partitionKey: 'p' });
    assert.equal(deleted, 60);
    assert.deepEqual(await rowKeysOf(table), []);
  });

  it('are refused together before a blob is put', costly(), async () => {
    const { table, blobs } = await withBlobs();
    let puts = 0;
    const counted: BlobPort = {
      ...blobs,
      put: (...given) => {
        puts += 1;
        return blobs.put(...given);
      },
    };
    const large = withLargeValues(table, { ...small, blobs: counted });
    const rows = rowsOf(51, () => ({ V: random(5000), W: random(10) }));
    const inserts = rows.map((row) => ({ kind: 'insert', row }) as const);
    await assert.rejects(large.transact(inserts), {
      name: 'TooLargeError',
      message: /the writes are 102; a transaction holds 100/,
    });
    assert.equal(puts, 0);
    await large.transact(inserts.slice(1));
    assert.equal(puts, 50);
  });
});

describe('what a large value costs', () => {
  it('is what the documentation says', costly(), async () => {
    const { large, requests } = await withBlobs();
    const costs = async (properties: RowProperties) => {
      const row = rowOf(properties, 'cost');
      const kinds: string[] = [];
      for (const work of [
        () => large.write({ kind: 'insert', row }),
        () => large.get(row),
        () => large.write({ kind: 'replace', row, etag: '*' }),
        () => large.write({ kind: 'merge', row: { ...row, properties: {} }, etag: '*' }),
        () => large.write({ kind: 'delete', key: row, etag: '*' }),
      ]) {
        requests();
        await work();
        kinds.push(requests().join('+'));
      }
      return kinds;
    };
    const read = 'point-read';
    assert.deepEqual(await costs({ V: text('short') }), [
      'insert',
      read,
      `${read}+update`,
      'update',
      `${read}+delete`,
    ]);
    assert.deepEqual(await costs({ V: random(200_000) }), [
      'insert',
      read,
      `${read}+update`,
      'update',
      `${read}+delete`,
    ]);
    assert.deepEqual(await costs({ V: random(1_500_000) }), [
      'transaction',
      `${read}+query`,
      `${read}+transaction`,
      'update',
      `${read}+transaction`,
    ]);
    assert.deepEqual(await costs({ V: random(4_000_000) }), [
      'insert',
      read,
      `${read}+update`,
      'update',
      `${read}+delete`,
    ]);
  });

  it('is no point read where neither rows nor blobs are in use', async () => {
    const { large, requests } = await fixture({ useRows: false });
    await large.write({ kind: 'upsert-replace', row: rowOf({ V: random(200_000) }) });
    await large.write({ kind: 'delete', key, etag: '*' });
    assert.deepEqual(requests(), ['update', 'delete']);
  });

  it('is no transfer of parts by a selection of other properties', async () => {
    const { table, large } = await fixture({ properties: ['V'] });
    const selections: (readonly string[] | undefined)[] = [];
    const spy: TableGateway = {
      ...table,
      table: table.table,
      get: (given, select) => {
        selections.push(select);
        return table.get(given, select);
      },
    };
    await large.write({ kind: 'insert', row: rowOf({ V: random(200_000), N: text('n') }) });
    const selecting = withLargeValues(spy, { properties: ['V'] });
    assert.deepEqual((await selecting.get(key, ['N']))?.properties, { N: text('n') });
    assert.deepEqual(selections, [['N', '_LargeOf']]);
  });
});

describe('the errors of a large value', () => {
  it('are those of the write that was given', async () => {
    const { large, blobs } = await withBlobs(small);
    const row = rowOf({ A: random(1000), V: random(3000), W: random(10) });
    await assert.rejects(large.write({ kind: 'replace', row, etag: '*' }), EntityNotFoundError);
    await assert.rejects(large.write({ kind: 'merge', row, etag: '*' }), EntityNotFoundError);
    const { etag } = await large.write({ kind: 'insert', row });
    const places = Object.values((await large.describe(key))?.values ?? {});
    assert.deepEqual(new Set(places.map(({ at }) => at)), new Set(['entity', 'rows', 'blob']));
    const before = await namesOf(blobs);
    await assert.rejects(large.write({ kind: 'insert', row }), EntityExistsError);
    const stale = `${etag?.slice(0, -2)}x"`;
    for (const write of [
      { kind: 'replace', row, etag: stale },
      { kind: 'merge', row, etag: stale },
      { kind: 'delete', key, etag: stale },
    ] as const) {
      await assert.rejects(large.write(write), ConditionFailedError);
    }
    assert.deepEqual(await namesOf(blobs), before, 'nothing is left of what was refused');
    assert.deepEqual((await large.get(key))?.properties, row.properties);
  });

  it('name the write of a transaction by its place among those given', async () => {
    const { large } = await fixture({ ...small, locations: {} });
    const values = { A: random(1000), V: random(3000) };
    const rows = ['1', '2', '3'].map((rowKey) => rowOf(values, rowKey));
    await large.write({ kind: 'insert', row: rowOf({}, '3') });
    const run = large.transact(rows.map((row) => ({ kind: 'insert', row })));
    await assert.rejects(run, (error: unknown) => {
      assert.ok(error instanceof TransactionFailedError);
      assert.equal(error.index, 2);
      assert.ok(error.reason instanceof EntityExistsError);
      return true;
    });
    assert.equal(await large.get(rowOf({}, '1')), undefined);
  });

  it('tell that something must be encrypted before it is split', async () => {
    const { large, requests } = await fixture();
    const row = { ...rowOf({ V: text('x') }), encrypt: ['V'] };
    await assert.rejects(large.write({ kind: 'insert', row }), /withEncryption\(withLargeValues/);
    await assert.rejects(large.transact([{ kind: 'insert', row }]), /must be encrypted/);
    assert.deepEqual(requests(), []);
  });
});

describe('other writers', () => {
  it('may merge small values over large ones: the newer counts', async () => {
    const { table, large } = await fixture();
    await large.write({ kind: 'insert', row: rowOf({ V: random(200_000) }) });
    await table.write({ kind: 'merge', row: rowOf({ V: text('theirs') }), etag: '*' });
    assert.deepEqual((await large.get(key))?.properties, { V: text('theirs') });
  });

  it('may outgrow the entity by small merges: it is laid out anew', async () => {
    const { large } = await fixture();
    const V = random(950_000);
    await large.write({ kind: 'insert', row: rowOf({ V }) });
    const added: Record<string, WireValue> = {};
    for (let index = 0; index < 4; index += 1) {
      added[`n${index}`] = random(30_000);
      const row = rowOf({ [`n${index}`]: added[`n${index}`] ?? text('') });
      await large.write({ kind: 'merge', row, etag: '*' });
    }
    assert.deepEqual((await large.get(key))?.properties, { V, ...added });
  });

  it(
    'never make a mix of two writes, nor rows or blobs that nothing points to',
    costly(),
    async () => {
      const { given, table, large, blobs } = await withBlobs(small);
      // Each writer fills all properties with its own byte: in parts, in rows and in a blob.
      const filled = (fill: number): RowProperties => ({
        A: { type: 'Binary', value: Buffer.alloc(1000 + fill, fill) },
        V: { type: 'Binary', value: Buffer.alloc(3000 + fill * 300, fill) },
        W: { type: 'Binary', value: Buffer.alloc(10, fill) },
      });
      await large.write({ kind: 'insert', row: rowOf(filled(0)) });
      assert.deepEqual(
        Object.values((await large.describe(key))?.values ?? {}).map(({ at }) => at),
        ['entity', 'rows', 'blob'],
      );
      let reads = 0;
      const left = { writing: 16 };
      const writers = Array.from({ length: 16 }, async (_, index) => {
        const own = withLargeValues(table, given);
        const row = rowOf(filled(index + 1));
        try {
          for (let done = false; !done;) {
            done = await own.write({ kind: 'upsert-replace', row }).then(
              () => true,
              (error: Error) => {
                assert.equal(error.name, 'ContentionError');
                return false;
              },
            );
          }
        } finally {
          left.writing -= 1;
        }
      });
      const reader = async () => {
        while (left.writing > 0) {
          const read = await large.get(key);
          const fills = new Set(
            Object.values(read?.properties ?? {}).flatMap(({ value }) =>
              Array.from(value as Uint8Array),
            ),
          );
          assert.equal(fills.size, 1, `a mix of ${[...fills].join(', ')}`);
          reads += 1;
        }
      };
      await Promise.all([...writers, reader(), reader()]);
      assert.ok(reads > 0);
      const report = await verifyLargeValues(large, { clock: manualClock(9e15), readValues: true });
      assert.deepEqual(report.unreadable, []);
      assert.deepEqual([report.abandonedRows, report.abandonedBlobs], [[], []]);
      assert.equal((await namesOf(blobs)).length, 1);
      assert.equal((await rowKeysOf(table)).length, 2);
    },
  );
});

describe('a process that is killed', () => {
  const before = { V: random(5000), W: random(10), N: text('before') };
  const after = { V: random(6000), W: random(20), N: text('after') };

  async function prepare(rows: readonly Row[] = [rowOf(before)]) {
    const { table, large, blobs, given } = await withBlobs(small);
    for (const row of rows) await large.write({ kind: 'insert', row });
    return { table, large, blobs, given };
  }

  type World = Awaited<ReturnType<typeof prepare>>;

  const recover = async ({ large }: World) => {
    await verifyLargeValues(large, { repair: true, clock: manualClock(9e15) });
  };

  /**
   * Checks that the entity is one of these states, and that the table and the blobs have nothing
   * else.
   */
  const isOneOf = (...states: readonly (RowProperties | undefined)[]) => {
    return async ({ table, large, blobs }: World) => {
      const read = await large.get(key);
      assert.ok(
        states.some((state) => isSame(state, read?.properties)),
        'neither the old entity nor the new',
      );
      const clock = manualClock(9e15);
      const report = await verifyLargeValues(large, { readValues: true, clock });
      assert.deepEqual(
        [report.abandonedBlobs, report.abandonedRows, report.unreadable],
        [[], [], []],
      );
      const manifest = await large.describe(key);
      const expected = Object.values(manifest?.values ?? {}).flatMap(({ blob }) => blob ?? []);
      assert.deepEqual(await namesOf(blobs), expected);
      const count = (read === undefined ? 0 : 1) + (manifest?.rows ?? 0);
      assert.equal((await rowKeysOf(table)).length, count);
    };
  };

  const doomedLarge = ({ table, blobs }: World, doomed: { wrap<T extends object>(port: T): T }) =>
    withLargeValues(doomed.wrap(table), { ...small, blobs: doomed.wrap(blobs) });

  it('in an insert leaves nothing or the entity, and after the sweep no orphan', async () => {
    const requests = await crashEverywhere<World>({
      prepare: () => prepare([]),
      run: (world, doomed) =>
        doomedLarge(world, doomed).write({ kind: 'insert', row: rowOf(after) }),
      recover,
      check: isOneOf(undefined, after),
    });
    assert.deepEqual(requests, ['put', 'transact']);
  });

  it('in a replace leaves the old entity or the new one, whole', costly(), async () => {
    const requests = await crashEverywhere<World>({
      prepare,
      run: (world, doomed) =>
        doomedLarge(world, doomed).write({ kind: 'upsert-replace', row: rowOf(after) }),
      recover,
      check: isOneOf(before, after),
      crashRecovery: true,
    });
    assert.deepEqual(requests, ['get', 'put', 'transact', 'delete']);
  });

  it('in a merge leaves the old entity or the merged one, whole', costly(), async () => {
    const { V, W } = after;
    await crashEverywhere<World>({
      prepare,
      run: (world, doomed) =>
        doomedLarge(world, doomed).write({ kind: 'merge', row: rowOf({ V, W }), etag: '*' }),
      recover,
      check: isOneOf(before, { ...before, V, W }),
    });
  });

  it('in a delete leaves the entity or nothing', async () => {
    const requests = await crashEverywhere<World>({
      prepare,
      run: (world, doomed) => doomedLarge(world, doomed).write({ kind: 'delete', key, etag: '*' }),
      recover,
      check: isOneOf(before, undefined),
    });
    assert.deepEqual(requests, ['get', 'transact', 'delete']);
  });
});

function isSame(left: RowProperties | undefined, right: RowProperties | undefined): boolean {
  try {
    assert.deepEqual(left, right);
    return true;
  } catch {
    return false;
  }
}

describe('verifying large values', () => {
  const value = { W: random(4_000_000) };

  it('leaves blobs alone that a write may still point to', async () => {
    const { large, blobs } = await withBlobs();
    const metadata = { tabularium_row: Buffer.from('["p","none"]').toString('base64') };
    const name = `${large.blobFolder}x/W`;
    await blobs.put(name, Buffer.from('x'), { metadata });
    const [blob] = (await blobs.list('')).blobs;
    assert.ok(blob !== undefined);
    const clock = manualClock(blob.modifiedMicros + 3_600_000_000 - 1);
    const young = await verifyLargeValues(large, { repair: true, clock });
    assert.deepEqual(young.abandonedBlobs, []);
    clock.advanceMicros(1);
    const old = await verifyLargeValues(large, { clock });
    assert.deepEqual(old.abandonedBlobs, [name]);
    assert.deepEqual(await namesOf(blobs), [name], 'without repair nothing is deleted');
    await verifyLargeValues(large, { repair: true, clock });
    assert.deepEqual(await namesOf(blobs), []);
  });

  it('leaves blobs alone that are young by the clock of the service', async () => {
    const blobs = await newContainer();
    const { gateway: table } = await tables.newTable();
    const large = withLargeValues(table, { blobs });
    const metadata = { tabularium_row: Buffer.from('["p","none"]').toString('base64') };
    const name = `${large.blobFolder}x/W`;
    await blobs.put(name, Buffer.from('x'), { metadata });
    const clock = manualClock(Date.UTC(2999, 0, 1) * 1000);
    const { abandonedBlobs } = await verifyLargeValues(large, { repair: true, clock });
    assert.deepEqual(abandonedBlobs, []);
    assert.deepEqual(await namesOf(blobs), [name]);
  });

  it('leaves blobs alone that are not of this pattern', async () => {
    const { large, blobs } = await withBlobs();
    for (const [index, metadata] of [{}, { tabularium_row: 'bm90IGpzb24=' }].entries()) {
      await blobs.put(`${large.blobFolder}${index}`, Buffer.from('x'), { metadata });
    }
    await verifyLargeValues(large, { repair: true, clock: manualClock(9e15) });
    assert.equal((await namesOf(blobs)).length, 2);
  });

  it('tells of an address whose blob somebody deleted', async () => {
    const { large, blobs } = await withBlobs();
    await large.write({ kind: 'insert', row: rowOf(value) });
    const [name] = await namesOf(blobs);
    await blobs.delete(name ?? '');
    await assert.rejects(large.get(key), /the blob .* of 'W' is not there/);
    const { unreadable } = await verifyLargeValues(large);
    assert.deepEqual(
      unreadable.map(({ rowKey }) => rowKey),
      ['r'],
    );
  });

  it('tells of values that were changed', async () => {
    const { table, large } = await fixture();
    await large.write({ kind: 'insert', row: rowOf({ V: random(200_000) }) });
    const part = rowOf({ _Large01: random(65_536) });
    await table.write({ kind: 'merge', row: part, etag: '*' });
    await assert.rejects(large.get(key), /'V' are not the value that was written/);
    const { unreadable } = await verifyLargeValues(large, { readValues: true });
    assert.equal(unreadable.length, 1);
  });

  it('does not let a slow write point to blobs that may have been swept', async () => {
    const { blobs, table, requests } = await withBlobs();
    const clock = manualClock();
    const slow: BlobPort = {
      ...blobs,
      put: async (...given) => {
        await blobs.put(...given);
        clock.advanceMicros(1_800_000_000);
      },
    };
    const large = withLargeValues(table, { blobs: slow, clock });
    await assert.rejects(
      large.write({ kind: 'insert', row: rowOf(value) }),
      /more than half of graceMs/,
    );
    assert.deepEqual(requests(), []);
  });
});

describe('a lost answer', () => {
  it('of a blob makes no difference: its name is never used for another', async () => {
    const { blobs } = await withBlobs();
    await blobs.put('large/x', Buffer.from('first'), { metadata: {} });
    await blobs.put('large/x', Buffer.from('again'), { metadata: {} });
    assert.deepEqual(await blobs.get('large/x'), Buffer.from('first'));
    assert.equal(await blobs.has('large/x'), true);
    await blobs.delete('large/x');
    await blobs.delete('large/x');
    assert.deepEqual([await blobs.get('large/x'), await blobs.has('large/x')], [undefined, false]);
  });

  it('that makes the client repeat its write does not cost the blobs of the first', async () => {
    const { table, blobs } = await withBlobs();
    // Stands for a client's retry: the first request is applied, and its repetition gets a
    // conflict.
    const repeating: TableGateway = {
      table: table.table,
      get: (given, select) => table.get(given, select),
      page: (query) => table.page(query),
      transact: (writes) => table.transact(writes),
      write: async (write) => {
        await table.write(write);
        return table.write(write);
      },
    };
    const large = withLargeValues(repeating, { blobs });
    const row = rowOf({ W: random(4_000_000) });
    const { etag } = await large.write({ kind: 'insert', row });
    const read = await large.get(key);
    assert.deepEqual(read?.properties, row.properties);
    assert.equal(read.etag, etag);
  });
});

describe('the wire format', () => {
  it('can be read by whoever knows the reference page', async () => {
    const { table, large, blobs } = await withBlobs();
    const properties = {
      A: random(100_000),
      B: text('é'.repeat(50_000)),
      C: text('compress me '.repeat(200_000)),
      D: random(1_200_000),
      E: random(500_000),
      F: random(4_000_000),
    };
    await large.write({ kind: 'insert', row: rowOf(properties) });
    const head = await table.get(key);
    assert.ok(head?.properties['_Large']?.type === 'String');
    const manifest = JSON.parse(head.properties['_Large'].value);
    const bytesOf = (given: RowProperties) => {
      const names = Object.keys(given)
        .filter((name) => /^_Large\d\d$/.test(name))
        .sort();
      return Buffer.concat(names.map((name) => given[name]?.value as Uint8Array));
    };
    const places: Record<string, Buffer> = { entity: bytesOf(head.properties) };
    const rows = [];
    for (let index = 0; index < (manifest.rows ?? 0); index += 1) {
      const rowKey = `~large_${manifest.gen}_${String(index).padStart(2, '0')}`;
      const row = await table.get({ partitionKey: 'p', rowKey });
      assert.deepEqual(row?.properties['_LargeOf'], text('r'));
      rows.push(bytesOf(row.properties));
    }
    places['rows'] = Buffer.concat(rows);
    const seen = new Set<string>();
    for (const [name, expected] of Object.entries(properties)) {
      const { type, at, enc, from = 0, stored, bytes, sha256, blob } = manifest.values[name];
      seen.add(`${at} ${enc ?? 'identity'}`);
      const whole = at === 'blob' ? Buffer.from((await blobs.get(blob)) ?? []) : places[at];
      assert.ok(whole !== undefined);
      const raw = whole.subarray(from, from + stored);
      const plain =
        enc === 'br' ? brotliDecompressSync(raw) : enc === 'deflate' ? inflateSync(raw) : raw;
      assert.equal(plain.length, bytes);
      assert.equal(createHash('sha256').update(plain).digest('base64'), sha256);
      const value = type === 'String' ? plain.toString('utf8') : new Uint8Array(plain);
      assert.deepEqual({ type, value }, expected);
    }
    assert.deepEqual([...seen].sort(), [
      'blob identity',
      'entity br',
      'entity identity',
      'rows identity',
    ]);
  });
});
