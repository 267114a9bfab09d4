import type { Bytes } from '../../base/bytes.js';
import { byteaArray } from './binary-array.js';
import { shortKeyBytesMax } from './statements.js';

/** An empty key keeps its place in an array and is never found. */
const nothing = Buffer.alloc(0);

/** The parameters of statements that read many keys: the short ones, and the long ones. */
export function keyArrays(keys: readonly Bytes[]): readonly [Buffer, Buffer] {
  const isLong = (key: Bytes) => key.length > shortKeyBytesMax;
  return [
    byteaArray(keys.map((key) => (isLong(key) ? nothing : key))),
    byteaArray(keys.some(isLong) ? keys.map((key) => (isLong(key) ? key : nothing)) : []),
  ];
}
