import { createHash } from 'node:crypto';
import { asBuffer, type Bytes } from '../../base/bytes.js';
import { byteaArray } from './binary-array.js';

/** Longer keys are in the table of long keys. */
export const shortKeyBytesMax = 2600;

/** The number of bytes of a long key that are in its index. */
export const longHeadBytesMax = 2000;

/**
 * A placeholder in an array for a key of the other table: it keeps the position and is never found.
 */
const nothing = Buffer.alloc(0);

export function isLongKey(key: Bytes): boolean {
  return key.length > shortKeyBytesMax;
}

/**
 * The hash by which a long key is found. It is computed here, because PostgreSQL, CockroachDB and
 * YugabyteDB have no hash function in common.
 */
export function hashOf(key: Bytes): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The parameters of statements that read many keys: the short ones, and hashes of long ones. */
export function keyArrays(keys: readonly Bytes[]): readonly [Buffer, Buffer] {
  return [
    byteaArray(keys.map((key) => (isLongKey(key) ? nothing : key))),
    byteaArray(
      keys.some(isLongKey) ? keys.map((key) => (isLongKey(key) ? hashOf(key) : nothing)) : [],
    ),
  ];
}

/** The parameters of statements that read the version of a guard. */
export function guardParameters(key: Bytes): readonly [Buffer, Buffer | null] {
  return isLongKey(key) ? [nothing, hashOf(key)] : [asBuffer(key), null];
}
