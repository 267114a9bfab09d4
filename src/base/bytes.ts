/** A byte string. Callers never modify bytes they have handed over or received. */
export type Bytes = Uint8Array;

/** Unsigned byte order; a prefix is less than what it begins. Negative, zero or positive. */
export function compareBytes(left: Bytes, right: Bytes): number {
  return Buffer.compare(left, right);
}

export function equalBytes(left: Bytes, right: Bytes): boolean {
  return left.length === right.length && Buffer.compare(left, right) === 0;
}

export function startsWith(bytes: Bytes, prefix: Bytes): boolean {
  return bytes.length >= prefix.length && equalBytes(bytes.subarray(0, prefix.length), prefix);
}

/** The same memory as a Buffer, for its native conversions. */
export function asBuffer(bytes: Bytes): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A text that is unique to a byte string, so that maps and sets can use byte strings as keys. */
export function nameOfBytes(bytes: Bytes, start = 0, end = bytes.length): string {
  return asBuffer(bytes).toString('latin1', start, end);
}

export function concatBytes(...parts: readonly Bytes[]): Bytes {
  return Buffer.concat(parts);
}
