import { invariant } from './invariant.js';

/** The size of a safe integer as bytes. */
export const safeIntegerBytes = 8;
const highStep = 0x1_0000_0000;

/** Writes a safe integer of either sign in 8 bytes, big endian, two's complement. */
export function writeSafeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeInt32BE(Math.floor(value / highStep), at);
  // `>>>` takes the lower 32 bits of a number of any size.
  bytes.writeUInt32BE(value >>> 0, at + 4);
}

/** The inverse of `writeSafeInteger`. Anything else breaks an invariant, which `what` names. */
export function readSafeInteger(bytes: Uint8Array, at: number, what: string): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, safeIntegerBytes);
  const value = view.getInt32(0) * highStep + view.getUint32(4);
  invariant(Number.isSafeInteger(value), `${what} is a safe integer`);
  return value;
}
