import type { Bytes } from '../../base/bytes.js';
import {
  annotationLength,
  firstProperty,
  fragmentEnd,
  fragmentStart,
  headersEnd,
  nameLength,
  nameStart,
  propertyHeaderBytes,
  propertyTag,
  textEnd,
  writeHeader,
  writeU32,
} from './bag-layout.js';
import { BagBuilder } from './bag-builder.js';
import { propertyName, readValue } from './bag.js';
import { writeBytes } from './json-bytes.js';
import type { PropertyBag } from '../edm/value.js';

/**
 * The bag with its properties in ordinal order of their names, the order of an entity after any PUT
 * or MERGE (table-service §2.6). Returns the same bag when it is in order.
 */
export function sortedBag(bag: Bytes): Bytes {
  if (isSorted(bag)) return bag;
  const order = sortedHeaders(bag);
  const sorted = Buffer.allocUnsafe(textEnd(bag));
  let end = headersEnd(bag) + 4;
  writeBytes(sorted, 0, bag, 0, firstProperty);
  let header = firstProperty;
  for (const at of order) {
    const names = nameLength(bag, at);
    writeHeader(sorted, header, end, propertyTag(bag, at), names, annotationLength(bag, at));
    header += propertyHeaderBytes;
    end = writeBytes(sorted, end, bag, fragmentStart(bag, at), fragmentEnd(bag, at));
  }
  writeU32(sorted, header, end);
  return sorted;
}

const builder = new BagBuilder();

/**
 * The stored properties, replaced or extended by the given ones, in ordinal order of their names.
 */
export function mergedBag(stored: Bytes, given: Bytes): PropertyBag {
  const sides = [sortedHeaders(given), sortedHeaders(stored)] as const;
  builder.begin();
  let [next, nextStored] = [0, 0];
  while (next < sides[0].length || nextStored < sides[1].length) {
    const at = sides[0][next];
    const storedAt = sides[1][nextStored];
    const order = compareEntries(given, at, stored, storedAt);
    if (order <= 0) next += 1;
    if (order >= 0) nextStored += 1;
    if (order <= 0 && at !== undefined) copyProperty(given, at);
    else if (storedAt !== undefined) copyProperty(stored, storedAt);
  }
  return builder.finish();
}

/** As `compareNames`; an exhausted side comes last. */
function compareEntries(
  left: Bytes,
  leftAt: number | undefined,
  right: Bytes,
  rightAt: number | undefined,
): number {
  if (leftAt === undefined) return 1;
  return rightAt === undefined ? -1 : compareNames(left, leftAt, right, rightAt);
}

function copyProperty(bag: Bytes, at: number): void {
  const property = { name: propertyName(bag, at), value: readValue(bag, at) };
  const range = { bag, start: fragmentStart(bag, at), end: fragmentEnd(bag, at) };
  builder.copyStored(property, range, {
    nameBytes: nameLength(bag, at),
    annotationBytes: annotationLength(bag, at),
  });
}

function headersOf(bag: Bytes): number[] {
  const headers: number[] = [];
  const end = headersEnd(bag);
  for (let at = firstProperty; at < end; at += propertyHeaderBytes) headers.push(at);
  return headers;
}

function sortedHeaders(bag: Bytes): number[] {
  return headersOf(bag).sort((left, right) => compareNames(bag, left, bag, right));
}

function isSorted(bag: Bytes): boolean {
  const end = headersEnd(bag);
  for (let at = firstProperty + propertyHeaderBytes; at < end; at += propertyHeaderBytes) {
    if (compareNames(bag, at - propertyHeaderBytes, bag, at) > 0) return false;
  }
  return true;
}

/** Ordinal order of UTF-16 code units. */
function compareNames(left: Bytes, leftAt: number, right: Bytes, rightAt: number): number {
  const leftLength = nameLength(left, leftAt);
  const rightLength = nameLength(right, rightAt);
  const leftStart = nameStart(left, leftAt);
  const rightStart = nameStart(right, rightAt);
  const length = Math.min(leftLength, rightLength);
  for (let index = 0; index < length; index += 1) {
    const leftByte = left[leftStart + index] ?? 0;
    const rightByte = right[rightStart + index] ?? 0;
    if (leftByte !== rightByte) return unitOrder(leftByte) - unitOrder(rightByte);
  }
  return leftLength - rightLength;
}

/** In UTF-16, unlike in UTF-8, U+E000…U+FFFF come after surrogate pairs. */
function unitOrder(byte: number): number {
  return byte === 0xee || byte === 0xef ? byte + 0x10 : byte;
}
