import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { defineEntity, int32, key, string } from '../../index.js';
import { codecOf } from '../../definition/codec.js';
import { keyScopeOf, type KeyScope } from './key-scope.js';

const Photo = defineEntity({
  type: 'Photo',
  properties: { user: string(), album: string(), year: int32(), number: int32() },
  partitionKey: (p) => key`${p.user}_${p.album}`,
  rowKey: (p) => key`${p.year.padded(4)}_${p.number.padded(4)}`,
});

/**
 * Applies the rule of the service: the order of PartitionKey, then RowKey, with both bounds
 * included.
 */
function reaches(
  scope: KeyScope,
  { partitionKey, rowKey }: { partitionKey: string; rowKey: string },
) {
  const { startPartitionKey, endPartitionKey, startRowKey, endRowKey } = scope;
  const isAfterStart =
    partitionKey > startPartitionKey ||
    (partitionKey === startPartitionKey && (startRowKey === undefined || rowKey >= startRowKey));
  const isBeforeEnd =
    partitionKey < endPartitionKey ||
    (partitionKey === endPartitionKey && (endRowKey === undefined || rowKey <= endRowKey));
  return isAfterStart && isBeforeEnd;
}

const anyText = fc.string({ unit: 'binary', maxLength: 6 }).filter((text) => !/\p{Cs}/u.test(text));
const anyPhoto = fc.record({
  user: fc.oneof(fc.constantFrom('jones', 'jonesj', 'jones_', 'Jones', 'jone'), anyText),
  album: fc.oneof(fc.constantFrom('a', 'b', ''), anyText),
  year: fc.integer({ min: 0, max: 9999 }),
  number: fc.integer({ min: 0, max: 9999 }),
});

describe('the reach of a token', () => {
  it('is one partition when the PartitionKey is whole', () => {
    assert.deepEqual(keyScopeOf(Photo, { partition: { user: 'jones', album: 'a' } }), {
      startPartitionKey: 'jones_a',
      endPartitionKey: 'jones_a',
    });
  });

  it('is a range of partitions, or of rows in one, when only the first values are given', () => {
    assert.deepEqual(keyScopeOf(Photo, { partition: { user: 'jones' } }), {
      startPartitionKey: 'jones_',
      endPartitionKey: 'jones_\ufffd',
    });
    assert.deepEqual(
      keyScopeOf(Photo, { partition: { user: 'jones', album: 'a' }, rows: { year: 2024 } }),
      {
        startPartitionKey: 'jones_a',
        endPartitionKey: 'jones_a',
        startRowKey: '2024_',
        endRowKey: '2024_\ufffd',
      },
    );
  });

  it('is one row when all keys are whole', () => {
    const rows = { year: 2024, number: 7 };
    const scope = keyScopeOf(Photo, { partition: { user: 'jones', album: 'a' }, rows });
    assert.deepEqual([scope.startRowKey, scope.endRowKey], ['2024_0007', '2024_0007']);
  });

  it('is every entity of the values, and never one of others', () => {
    fc.assert(
      fc.property(anyPhoto, anyPhoto, (own, other) => {
        const { user, album, year } = own;
        const keys = codecOf(Photo).key(other);
        const isUser = other.user === user;
        assert.equal(reaches(keyScopeOf(Photo, { partition: { user } }), keys), isUser);
        const isAlbum = isUser && other.album === album;
        const whole = { partition: { user, album } };
        assert.equal(reaches(keyScopeOf(Photo, whole), keys), isAlbum);
        const isYear = isAlbum && other.year === year;
        assert.equal(reaches(keyScopeOf(Photo, { ...whole, rows: { year } }), keys), isYear);
        assert.ok(reaches(keyScopeOf(Photo, { partition: { user } }), codecOf(Photo).key(own)));
      }),
      { numRuns: 166 },
    );
  });

  it('is never the whole table, rows of several partitions, or an empty key', () => {
    assert.throws(() => keyScopeOf(Photo, { partition: {} }), /every partition/);
    const rows = { year: 2024 };
    assert.throws(
      () => keyScopeOf(Photo, { partition: { user: 'jones' }, rows }),
      /one partition only/,
    );
    const Plain = defineEntity({
      type: 'Plain',
      properties: { id: string() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key``,
    });
    assert.throws(() => keyScopeOf(Plain, { partition: { id: '' } }), /empty key/);
    assert.throws(() => keyScopeOf(Plain, { partition: { id: 'a' }, rows: {} }), /empty key/);
  });

  it('needs, by its types, the values in the order of the keys', () => {
    // @ts-expect-error -- an album needs its user before it
    assert.throws(() => keyScopeOf(Photo, { partition: { album: 'a' } }));
    const partition = { user: 'jones', album: 'a' };
    // @ts-expect-error -- a number needs its year before it
    assert.throws(() => keyScopeOf(Photo, { partition, rows: { number: 1 } }));
  });
});
