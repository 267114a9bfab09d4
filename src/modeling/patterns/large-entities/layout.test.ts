import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemRandomness } from '../../../base/randomness.js';
import { TooLargeError } from '../../rows/model-error.js';
import { binaryBytesMax, rowBytes, rowBytesMax, stringUnitsMax } from '../../rows/row-size.js';
import type { Row, RowProperties, WireValue } from '../../rows/row.js';
import { transactionBytes, transactionBytesMax } from '../../table/request-size.js';
import type { BlobPort } from './blob-port.js';
import { isLargeRow, layoutOf, type Layout } from './layout.js';
import { manifestOf } from './manifest.js';
import { limitsOf, type LargeOptions } from './options.js';
import { costly } from '../../../../test/support/run-length.js';

const generation = '0123456789abcdef0123456789abcdef';
const key = { partitionKey: 'p', rowKey: 'r' };
const noBlobs = () => Promise.reject(new Error('nothing is sent'));
const blobs: BlobPort = {
  put: noBlobs,
  get: noBlobs,
  has: noBlobs,
  delete: noBlobs,
  list: noBlobs,
};
const mebibyte = 1_048_576;

const random = (bytes: number): WireValue => ({
  type: 'Binary',
  value: systemRandomness.bytes(bytes),
});
const letters = (units: number): WireValue => ({ type: 'String', value: 'ab'.repeat(units / 2) });

function plan(properties: RowProperties, options: LargeOptions = {}): Promise<Layout> {
  return layoutOf({
    table: 'Docs',
    row: { ...key, properties },
    limits: limitsOf(options),
    generation,
    requestBytesMax: transactionBytesMax - 64 * 1024,
  });
}

/** The storage and encoding of each value. */
function placesOf({ head }: Layout): Readonly<Record<string, string>> {
  const values = Object.entries(manifestOf(head.properties)?.values ?? {});
  return Object.fromEntries(values.map(([name, { at, encoding }]) => [name, `${at} ${encoding}`]));
}

describe('the ladder of large values', () => {
  it('leaves rows alone that the service takes', async () => {
    const properties = { a: letters(stringUnitsMax), b: random(binaryBytesMax) };
    const layout = await plan(properties);
    assert.deepEqual(layout, { head: { ...key, properties }, rows: [], blobs: [] });
    assert.equal(isLargeRow({ ...key, properties }, limitsOf({})), false);
  });

  it('splits what is longer than a property', async () => {
    const properties = {
      a: letters(stringUnitsMax + 2),
      b: random(binaryBytesMax + 1),
      c: random(9),
    };
    const layout = await plan(properties);
    assert.deepEqual(placesOf(layout), { a: 'entity identity', b: 'entity identity' });
    assert.deepEqual(layout.head.properties['c'], properties.c);
    assert.equal(layout.head.properties['a'], undefined);
  });

  it('compresses what does not fit into the entity, when that helps', async () => {
    const layout = await plan({ a: letters(2 * mebibyte), b: random(300_000) });
    assert.deepEqual(placesOf(layout), { a: 'entity br', b: 'entity identity' });
    const zlib = await plan({ a: letters(2 * mebibyte) }, { compression: 'deflate' });
    assert.deepEqual(placesOf(zlib), { a: 'entity deflate' });
    const always = { compressAlways: true };
    assert.deepEqual(placesOf(await plan({ a: letters(40_000) }, always)), { a: 'entity br' });
    assert.deepEqual(placesOf(await plan({ a: random(80_000) }, always)), { a: 'entity identity' });
  });

  it('puts what is larger still into rows beside the entity', async () => {
    const layout = await plan({ a: random(1_500_000), b: random(200_000) });
    assert.deepEqual(placesOf(layout), { b: 'entity identity', a: 'rows identity' });
    assert.equal(layout.rows.length, 2);
  });

  it('puts what no transaction takes into blobs', async () => {
    const layout = await plan({ a: random(5_000_000), b: random(1_500_000) }, { blobs });
    assert.deepEqual(placesOf(layout), { b: 'rows identity', a: 'blob identity' });
    assert.deepEqual(
      layout.blobs.map(({ name, bytes }) => [name, bytes.length]),
      [[`large/docs/${generation}/a`, 5_000_000]],
    );
    const without = await plan({ a: random(1_500_000) }, { blobs, useRows: false });
    assert.deepEqual(placesOf(without), { a: 'blob identity' });
  });

  it('refuses, with advice, what fits nowhere', async () => {
    await assert.rejects(plan({ a: random(5_000_000) }), (error: Error) => {
      assert.ok(error instanceof TooLargeError);
      assert.match(error.message, /'a' of 5000000 bytes .* of Docs: pass 'blobs'/);
      return true;
    });
    const numbers = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`n${index}`, random(60_000)]),
    );
    const options = { properties: ['other'], blobs };
    await assert.rejects(plan({ ...numbers, other: random(70_000) }, options), TooLargeError);
  });

  it('takes the largest properties out of an entity of more than 1 MiB', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`n${index}`, random(30_000 + index)]),
    );
    assert.equal(isLargeRow({ ...key, properties }, limitsOf({})), true);
    const layout = await plan(properties);
    const locations = Object.entries(placesOf(layout));
    assert.ok(locations.length > 0 && locations.length < 40);
    assert.ok(locations.every(([, location]) => location.endsWith('identity')));
    assert.ok('n39' in placesOf(layout));
  });

  it('always puts into a blob what has its location there, as it is', async () => {
    const locations = { Photo: { at: 'blob', contentType: 'image/jpeg' } } as const;
    const photo = { type: 'Binary', value: Buffer.alloc(100) } as const;
    const layout = await plan({ Photo: photo }, { blobs, locations, compressAlways: true });
    const [blob] = layout.blobs;
    assert.deepEqual(blob?.bytes, photo.value);
    assert.equal(blob.details.contentType, 'image/jpeg');
    const owner = blob.details.metadata['tabularium_row'] ?? '';
    assert.deepEqual(JSON.parse(Buffer.from(owner, 'base64').toString()), ['p', 'r']);
  });

  it('touches only the properties that it is given', async () => {
    const properties = { a: letters(stringUnitsMax + 2), b: letters(stringUnitsMax + 2) };
    const layout = await plan(properties, { properties: ['a'] });
    assert.deepEqual(placesOf(layout), { a: 'entity identity' });
    assert.deepEqual(layout.head.properties['b'], properties.b);
  });
});

const anySize = fc.oneof(
  fc.nat(100_000),
  fc.constantFrom(0, 65_536, 65_537, 917_503, 917_504, 917_505, 990_000, 1_048_576),
  fc.nat(2_000_000),
);

describe('whatever the values are', () => {
  it('every row fits the service, and all of them a transaction', costly(), async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(anySize, fc.boolean()), { minLength: 1, maxLength: 6 }),
        async (sizes) => {
          const entries = sizes.map(([size, isText], index): [string, WireValue] => [
            `v${index}`,
            isText ? { type: 'String', value: 'é'.repeat(size / 2) } : random(size),
          ]);
          const { head, rows } = await plan(Object.fromEntries(entries), { blobs });
          for (const row of [head, ...rows]) assert.ok(rowBytes(row) <= rowBytesMax);
          const writes = [head, ...rows].map((row: Row) => ({ kind: 'insert', row }) as const);
          assert.ok(transactionBytes(writes) <= transactionBytesMax);
        },
      ),
      { numRuns: 40 },
    );
  });
});
