import type { Bytes } from '../../base/bytes.js';
import { safeIntegerBytes, writeSafeInteger } from '../../base/safe-integer.js';

/** The types of elements, by their object identifiers. */
const oids = { int4: 23, int8: 20, bytea: 17 } as const;

const headBytes = 20;
const int4Bytes = 4;

/** Integers of four bytes, in the binary form in which PostgreSQL sends and takes arrays. */
export function int4Array(items: readonly number[]): Buffer {
  const bytes = arrayOf(oids.int4, items.length, items.length * int4Bytes);
  let at = headBytes;
  for (const item of items) {
    at = bytes.writeInt32BE(int4Bytes, at);
    at = bytes.writeInt32BE(item, at);
  }
  return bytes;
}

/** Safe integers. */
export function int8Array(items: readonly number[]): Buffer {
  const bytes = arrayOf(oids.int8, items.length, items.length * safeIntegerBytes);
  let at = headBytes;
  for (const item of items) {
    at = bytes.writeInt32BE(safeIntegerBytes, at);
    writeSafeInteger(bytes, item, at);
    at += safeIntegerBytes;
  }
  return bytes;
}

export function byteaArray(items: readonly Bytes[]): Buffer {
  let length = 0;
  for (const item of items) length += item.length;
  const bytes = arrayOf(oids.bytea, items.length, length);
  let at = headBytes;
  for (const item of items) {
    at = bytes.writeInt32BE(item.length, at);
    bytes.set(item, at);
    at += item.length;
  }
  return bytes;
}

/** An array with its header, and space for the elements and their lengths. */
function arrayOf(oid: number, count: number, elementBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + count * 4 + elementBytes);
  // One dimension, no nulls, and the lower bound 1. An empty array may have a dimension of none.
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(0, 4);
  bytes.writeInt32BE(oid, 8);
  bytes.writeInt32BE(count, 12);
  bytes.writeInt32BE(1, 16);
  return bytes;
}
