import assert from 'node:assert/strict';
import { createDecipheriv } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemRandomness } from '../../base/randomness.js';
import { anyKeyText, anyWireValue } from '../../../test/modeling/support/wire-arbitraries.js';
import type { ValueLocation } from './associated-data.js';
import { EncryptionError } from './encryption-error.js';
import { decryptEqual, decryptValue, encryptEqual, encryptValue } from './property-cipher.js';

const key = Buffer.alloc(32, 7);
const equalKey = Buffer.alloc(64, 9);
const location: ValueLocation = {
  table: 'Staff',
  partitionKey: 'Sales',
  rowKey: '1',
  property: 'Note',
};

const anyLocation: fc.Arbitrary<ValueLocation> = fc.record({
  table: fc.constantFrom('Staff', 'Archive'),
  partitionKey: anyKeyText,
  rowKey: anyKeyText,
  property: fc.constantFrom('Note', 'Salary', 'N'),
});

describe('an encrypted value', () => {
  it('comes back with its type, exactly, in the location where it was encrypted', () => {
    fc.assert(
      fc.property(anyLocation, anyWireValue, (location, value) => {
        const random = encryptValue(key, location, value, systemRandomness);
        assert.deepEqual(decryptValue(key, location, random), value);
        const equal = encryptEqual(equalKey, location, value);
        assert.deepEqual(decryptEqual(equalKey, location, equal), value);
      }),
    );
  });

  it('does not decrypt in another table, partition, row or property', () => {
    fc.assert(
      fc.property(anyLocation, anyLocation, anyWireValue, (from, to, value) => {
        fc.pre(JSON.stringify(from) !== JSON.stringify(to));
        const bytes = encryptValue(key, from, value, systemRandomness);
        assert.throws(() => decryptValue(key, to, bytes), EncryptionError);
      }),
    );
  });

  it('tells apart keys that would be the same text one after the other', () => {
    const bytes = encryptValue(
      key,
      { ...location, partitionKey: 'a', rowKey: 'bc' },
      { type: 'Int32', value: 1 },
      systemRandomness,
    );
    const moved = { ...location, partitionKey: 'ab', rowKey: 'c' };
    assert.throws(() => decryptValue(key, moved, bytes), EncryptionError);
  });

  it('decrypts whatever the case of the table name, which is one name to the service', () => {
    const value = { type: 'String', value: 'x' } as const;
    const bytes = encryptValue(key, location, value, systemRandomness);
    assert.deepEqual(decryptValue(key, { ...location, table: 'sTAFF' }, bytes), value);
  });

  it('does not decrypt after any change', () => {
    fc.assert(
      fc.property(
        anyWireValue,
        fc.nat(),
        fc.integer({ min: 0, max: 7 }),
        (value, position, bit) => {
          for (const [bytes, open] of [
            [encryptValue(key, location, value, systemRandomness), decryptValue],
            [encryptEqual(equalKey, location, value), decryptEqual],
          ] as const) {
            const corrupted = Buffer.from(bytes);
            const at = position % corrupted.length;
            corrupted.writeUInt8(corrupted.readUInt8(at) ^ (1 << bit), at);
            const used = open === decryptValue ? key : equalKey;
            assert.throws(() => open(used, location, corrupted), EncryptionError);
            assert.throws(() => open(used, location, bytes.subarray(0, at)), EncryptionError);
          }
        },
      ),
    );
  });

  it('refuses half a surrogate pair, which would come back as another text', () => {
    assert.throws(
      () => encryptValue(key, location, { type: 'String', value: 'a\ud800' }, systemRandomness),
      EncryptionError,
    );
  });

  it('is the bytes that the reference documents', () => {
    const randomness = { ...systemRandomness, bytes: (count: number) => Buffer.alloc(count, 1) };
    const bytes = encryptValue(key, location, { type: 'String', value: 'é' }, randomness);
    const lengthPrefixed = (text: string) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(text));
      return Buffer.concat([length, Buffer.from(text)]);
    };
    const documented = `${'01'.repeat(13)}772220b02826837cb0f2006e997f92de7f8435`;
    assert.equal(Buffer.from(bytes).toString('hex'), documented);
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, 13));
    const parts = ['tabularium-encryption-1', 'staff', 'Sales', '1', 'Note'];
    decipher.setAAD(Buffer.concat(parts.map(lengthPrefixed)));
    decipher.setAuthTag(bytes.subarray(-16));
    const plain = Buffer.concat([decipher.update(bytes.subarray(13, -16)), decipher.final()]);
    assert.deepEqual(plain, Buffer.concat([Buffer.of(1), Buffer.from('é')]));
  });
});

describe('a value that is encrypted deterministically', () => {
  it('is the same bytes in every row, and others in every property and table', () => {
    const value = { type: 'String', value: 'jonesj@contoso.com' } as const;
    const bytes = encryptEqual(equalKey, { table: 'Staff', property: 'Email' }, value);
    assert.deepEqual(encryptEqual(equalKey, { table: 'staff', property: 'Email' }, value), bytes);
    for (const other of [
      { table: 'Staff', property: 'Mail' },
      { table: 'Archive', property: 'Email' },
    ]) {
      assert.notDeepEqual(encryptEqual(equalKey, other, value), bytes);
    }
  });
});
