import { own } from '../../base/own.js';
import { equalBytes } from '../../base/bytes.js';
import type { Row, WireValue } from './row.js';

/**
 * Whether type and value are equal. Numbers compare by `Object.is`: NaN equals NaN, 0 and -0
 * differ.
 */
export function sameValue(left: WireValue, right: WireValue): boolean {
  if (left.type === 'Binary' && right.type === 'Binary') return equalBytes(left.value, right.value);
  return left.type === right.type && Object.is(left.value, right.value);
}

/** Whether two rows have the same properties. */
export function sameContent(left: Row, right: Row): boolean {
  return sameProperties(left, right) && sameProperties(right, left);
}

/** Whether `whole` has every property of `part`, with the same value. */
export function sameProperties(part: Row, whole: Row): boolean {
  return Object.entries(part.properties).every(([name, wire]) => {
    const found = own(whole.properties, name);
    return found !== undefined && sameValue(wire, found);
  });
}

/**
 * There is no copy of a row, a copy without a row, or one whose properties differ, or that has in
 * plain what the row has encrypted.
 */
export type CopyDifference = 'missing' | 'surplus' | 'different';

/** Undefined when the copy is right: equal to its row, or as absent as it. */
export function copyDifference(
  row: Row | undefined,
  copy: Row | undefined,
): CopyDifference | undefined {
  if (row === undefined) return copy === undefined ? undefined : 'surplus';
  if (copy === undefined) return 'missing';
  const isEncrypted = row.encrypt?.every((name) => copy.encrypt?.includes(name)) ?? true;
  return isEncrypted && sameContent(row, copy) ? undefined : 'different';
}
