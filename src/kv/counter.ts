import type { Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import { readSafeInteger, safeIntegerBytes, writeSafeInteger } from '../base/safe-integer.js';

/** The size of a counter's value. */
export const counterBytes = safeIntegerBytes;

/** The value of a counter's key: a safe integer in 8 bytes, big endian, two's complement. */
export function encodeCounter(value: number): Bytes {
  invariant(Number.isSafeInteger(value), `a counter is a safe integer, not ${value}`);
  const bytes = Buffer.allocUnsafe(counterBytes);
  writeSafeInteger(bytes, value, 0);
  return bytes;
}

/** The counter in a value that `encodeCounter` made. Anything else breaks an invariant. */
export function decodeCounter(value: Bytes): number {
  invariant(value.length === counterBytes, `a counter has 8 bytes, not ${value.length}`);
  return readSafeInteger(value, 0, 'a counter');
}

/** The value of a counter's key after an addition. `before` is absent when the key is. */
export function addToCounter(before: Bytes | undefined, delta: number): Bytes {
  return encodeCounter((before === undefined ? 0 : decodeCounter(before)) + delta);
}
