import { decodeTuple, encodeTuple, isStoreKey, partitionPrefixLength } from 'tabularium/kv';
import type { KeyRange } from 'tabularium/kv';
import { compareBytes, startsWith, type Bytes } from './bytes.js';

/** Where an entry is: a partition of the cluster, and a row of it. */
export interface Place {
  readonly prefix: Bytes;
  readonly row: Bytes;
}

/** Precedes what is behind the prefix in the row of an entry, so that the head is before it. */
const entryTag = 0x01;
const tag = Buffer.from([entryTag]);
const afterEntries = Buffer.from([entryTag + 1]);

/** All keys of the store are in one partition: a commit may touch several of them. */
export const storePrefix: Bytes = encodeTuple(['~']);

export function placeOf(key: Bytes): Place {
  const length = isStoreKey(key) ? storePrefix.length : partitionPrefixLength(key);
  return { prefix: key.subarray(0, length), row: rowOf(key.subarray(length)) };
}

export function keyOf({ prefix, row }: Place): Bytes {
  return Buffer.concat([prefix, row.subarray(tag.length)]);
}

function rowOf(rest: Bytes): Bytes {
  return Buffer.concat([tag, rest]);
}

/** How many elements of a prefix name its container. */
const containerElements = 3;

/** The container of a prefix, under which the index has it. */
export function containerOf(prefix: Bytes): Bytes {
  return encodeTuple(decodeTuple(prefix, 0, containerElements));
}

/** The prefix that has all keys of a range, when its bounds show that. */
export function onlyPrefixOf({ start, end }: KeyRange): Bytes | undefined {
  if (end === undefined) return undefined;
  const prefix = isStoreKey(start) ? storePrefix : prefixOfBound(start);
  if (prefix === undefined) return undefined;
  return compareBytes(end, behind(prefix)) <= 0 ? prefix : undefined;
}

/** A bound may be any bytes, also such that no prefix begins them. */
function prefixOfBound(bound: Bytes): Bytes | undefined {
  try {
    return bound.subarray(0, partitionPrefixLength(bound));
  } catch {
    return undefined;
  }
}

/** The first key after all keys with a prefix. Prefixes end with 0x00. */
function behind(prefix: Bytes): Bytes {
  const end = Buffer.from(prefix);
  end[end.length - 1] = 1;
  return end;
}

/** The rows of a prefix that are within a range, from one to before another. */
export function rowsWithin(
  prefix: Bytes,
  { start, end }: KeyRange,
): { readonly from: Bytes; readonly to: Bytes } | undefined {
  const from = startsWith(start, prefix) ? rowOf(start.subarray(prefix.length)) : tag;
  const isBehind = from === tag && compareBytes(start, prefix) > 0;
  if (isBehind || (end !== undefined && compareBytes(end, prefix) <= 0)) return undefined;
  const isInside = end !== undefined && startsWith(end, prefix);
  const to = isInside ? rowOf(end.subarray(prefix.length)) : afterEntries;
  return compareBytes(from, to) < 0 ? { from, to } : undefined;
}
