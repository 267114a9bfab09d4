import type { Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';

/** The size of a counter's value. */
export const counterBytes = 8;
const highStep = 0x1_0000_0000;

/** The value of a counter's key: a safe integer in 8 bytes, big endian, two's complement. */
export function encodeCounter(value: number): Bytes {
  invariant(Number.isSafeInteger(value), `a counter is a safe integer, not ${value}`);
  const bytes = Buffer.allocUnsafe(counterBytes);
  bytes.writeInt32BE(Math.floor(value / highStep), 0);
  // `>>>` takes the lower 32 bits of a number of any size.
  bytes.writeUInt32BE(value >>> 0, 4);
  return bytes;
}

/** The counter in a value that `encodeCounter` made. Anything else breaks an invariant. */
export function decodeCounter(value: Bytes): number {
  invariant(value.length === counterBytes, `a counter has 8 bytes, not ${value.length}`);
  const view = new DataView(value.buffer, value.byteOffset, counterBytes);
  const counter = view.getInt32(0) * highStep + view.getUint32(4);
  invariant(Number.isSafeInteger(counter), 'a counter is a safe integer');
  return counter;
}

/** The value of a counter's key after an addition. `before` is absent when the key is. */
export function addToCounter(before: Bytes | undefined, delta: number): Bytes {
  return encodeCounter((before === undefined ? 0 : decodeCounter(before)) + delta);
}
