import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { codecOf } from '../../definition/codec.js';
import { defineEntity } from '../../definition/entity-definition.js';
import { key } from '../../definition/key-template.js';
import {
  binary,
  boolean,
  dateTime,
  double,
  enumeration,
  guid,
  int32,
  int64,
  string,
} from '../../definition/scalar-types.js';
import { embedded, json } from '../../definition/structured-types.js';
import { rowBytes } from '../../rows/row-size.js';
import { systemRandomness } from '../../../base/randomness.js';
import { encryptValue } from '../../encryption/property-cipher.js';
import { assumedUnits, encryptionBytes, entitySize } from './entity-size.js';
import type { FactsByName, SizeRange } from '../facts/property-facts.js';
import { shapeOf } from './stored-shape.js';
import { asEmployee, numbered } from '../../../../test/modeling/support/employees.js';

const Unstamped = defineEntity({
  ...asEmployee,
  properties: { ...numbered, lastName: string(), age: int32() },
  system: { type: false, writeStamp: false },
});

const Everything = defineEntity({
  type: 'Everything',
  version: 1,
  properties: {
    city: string(),
    number: int64(),
    text: string(),
    bytes: binary(),
    count: int32().optional(),
    share: double(),
    isOn: boolean(),
    unique: guid(),
    at: dateTime(),
    colour: enumeration('red', 'purple'),
    any: json<string>(),
    address: embedded({ street: string(), zip: int32().optional() }),
    renamed: string().named('Manager Rating'),
  },
  partitionKey: (p) => key`${p.city}`,
  rowKey: (p) => key`n-${p.number.offset()}_${p.colour}`,
  system: { writeStamp: false },
});

const texts = fc.string({ maxLength: 60, unit: fc.constantFrom('a', 'Z', 'é', '中') });
const entities = fc.record({
  city: texts,
  number: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  text: texts,
  bytes: fc.uint8Array({ maxLength: 60 }),
  count: fc.option(fc.integer({ min: -5, max: 5 }), { nil: undefined }),
  share: fc.double({ noNaN: true }),
  isOn: fc.boolean(),
  unique: fc.constant('c9da6455-213d-42c9-9a79-3e9149a57833'),
  at: fc.constant(new Date('2024-01-01')),
  colour: fc.constantFrom('red' as const, 'purple' as const),
  any: texts,
  address: fc.record({ street: texts, zip: fc.option(fc.nat(9), { nil: undefined }) }),
  renamed: texts,
});

describe('the size of an entity', () => {
  it('is what a hand counts', () => {
    const facts: FactsByName = { department: { size: 5 }, lastName: { size: 5 } };
    const size = entitySize(shapeOf(Unstamped), facts);
    // 4; keys 2 × (5 + 12); LastName 8 + 2 × 8 + (2 × 5 + 4); Age 8 + 2 × 3 + 4.
    assert.deepEqual(size.bytes, { average: 4 + 34 + 38 + 18, maximum: 94 });
    assert.equal(size.overheadBytes, 4 + (8 + 16) + (8 + 6));
    assert.equal(size.properties, 2);
    assert.deepEqual(size.rowKey, { average: 12, maximum: 12 });
    assert.deepEqual(size.assumed, []);
  });

  it('is what the service counts for every entity of that size', () => {
    const codec = codecOf(Everything);
    fc.assert(
      fc.property(entities, (entity) => {
        const facts: FactsByName = {
          city: { size: entity.city.length },
          text: { size: entity.text.length },
          bytes: { size: entity.bytes.length },
          count: { present: entity.count === undefined ? 0 : 1 },
          colour: { size: entity.colour.length },
          any: { size: JSON.stringify(entity.any).length },
          address: {
            properties: {
              street: { size: entity.address.street.length },
              zip: { present: entity.address.zip === undefined ? 0 : 1 },
            },
          },
          renamed: { size: entity.renamed.length },
        };
        const { bytes } = entitySize(shapeOf(Everything), facts);
        const expected = rowBytes(codec.toRow(entity));
        assert.deepEqual(bytes, { average: expected, maximum: expected });
      }),
    );
  });

  it('counts an optional property as often as it is there, and at most whole', () => {
    const with1 = entitySize(shapeOf(Unstamped), {
      lastName: { size: 10 },
      department: { size: 1 },
    });
    const half = entitySize(shapeOf(Unstamped), {
      lastName: { size: 10, present: 0.5 },
      department: { size: 1 },
    });
    const field = 8 + 16 + 24;
    assert.equal(with1.bytes.average - half.bytes.average, field / 2);
    assert.equal(half.bytes.maximum, with1.bytes.maximum);
  });

  it('names the sizes that it assumed, and computes those of an enumeration from its values', () => {
    const size = entitySize(shapeOf(Everything), {});
    assert.deepEqual(
      [...size.assumed].toSorted(),
      ['address.street', 'any', 'bytes', 'city', 'renamed', 'text'].toSorted(),
    );
    const expected: SizeRange = { average: assumedUnits, maximum: assumedUnits };
    assert.deepEqual(size.partitionKey, expected);
    const colour = size.fields.find(({ property }) => property === 'colour');
    assert.equal(colour, undefined, 'it is in the keys');
    assert.equal(size.rowKey.maximum, 2 + 20 + 1 + 'purple'.length);
    assert.equal(size.rowKey.average, 2 + 20 + 1 + (3 + 6) / 2);
  });

  it('adds what encrypting a value adds', () => {
    const place = { table: 't', partitionKey: 'p', rowKey: 'r', property: 'x' };
    const value = { type: 'String', value: 'secret' } as const;
    const bytes = encryptValue(new Uint8Array(32), place, value, systemRandomness);
    assert.equal(bytes.length, 'secret'.length + encryptionBytes);
  });

  it('counts what the library stores besides, and what encryption adds', () => {
    const Secret = defineEntity({
      type: 'Secret',
      version: 2,
      properties: { id: string(), text: string().encrypted() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`x`,
    });
    const size = entitySize(shapeOf(Secret), { id: { size: 4 }, text: { size: 100 } });
    assert.equal(size.properties, 5, 'text, EntityType, EntityVersion, WriteStamp, the envelope');
    const text = size.fields[0];
    // 8 + 2 × 4, then a Binary of 100 to 300 bytes with mark, type, nonce and tag.
    assert.equal(text?.bytes.average, 16 + 4 + 30 + 100);
    assert.equal(text?.bytes.maximum, 16 + 4 + 30 + 300);
  });
});
