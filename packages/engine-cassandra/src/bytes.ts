/** A byte string. Callers never modify bytes that they have handed over or received. */
export type Bytes = Uint8Array;

/** Unsigned byte order; a prefix is less than what it begins. */
export function compareBytes(left: Bytes, right: Bytes): number {
  return Buffer.compare(left, right);
}

export function startsWith(bytes: Bytes, prefix: Bytes): boolean {
  return (
    bytes.length >= prefix.length && compareBytes(bytes.subarray(0, prefix.length), prefix) === 0
  );
}

/** A text that is unique to a byte string, for maps and sets. */
export function nameOf(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
